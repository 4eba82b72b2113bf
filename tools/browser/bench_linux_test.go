package browser_test

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkNavigate opens a page of this machine in a warm browser, through the whole gate.
func BenchmarkNavigate(b *testing.B) {
	s := newSite(b, map[string]string{"/": shopPage})
	g := newGate(b, s.addr)
	g.must("navigate", named{"url": s.URL + "/"})
	var times []time.Duration
	for b.Loop() {
		at := time.Now()
		g.must("navigate", named{"url": s.URL + "/"})
		times = append(times, time.Since(at))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
}

// BenchmarkSnapshot shows a page of 5,000 nodes.
func BenchmarkSnapshot(b *testing.B) {
	s := newSite(b, map[string]string{"/": `<title>5000</title><body><script>document.body.append(...Array.from({length: 1250}, (_, i) => { const p = document.createElement('p'); p.innerHTML = 'text ' + i + ' <a href=/' + i + '>link ' + i + '</a>'; return p }))</script>`})
	g := newGate(b, s.addr)
	g.must("navigate", named{"url": s.URL + "/"})
	g.must("snapshot", named{})
	var times []time.Duration
	for b.Loop() {
		at := time.Now()
		g.must("snapshot", named{})
		times = append(times, time.Since(at))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
}
