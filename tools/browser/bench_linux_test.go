package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
	measureSnapshots(b, openLongPage(b), named{})
}

// openLongPage opens a page of 5,000 nodes and shows it once.
func openLongPage(b *testing.B) *gate {
	b.Helper()
	s := newSite(b, map[string]string{"/": `<title>5000</title><body><script>document.body.append(...Array.from({length: 1250}, (_, i) => { const p = document.createElement('p'); p.innerHTML = 'text ' + i + ' <a href=/' + i + '>link ' + i + '</a>'; return p }))</script>`})
	g := newGate(b, s.addr)
	g.must("navigate", named{"url": s.URL + "/"})
	g.must("snapshot", named{})
	return g
}

// BenchmarkSnapshotOfAnElement shows one element of that page.
func BenchmarkSnapshotOfAnElement(b *testing.B) {
	g := openLongPage(b)
	measureSnapshots(b, g, named{"ref": g.ref("link 7")})
}

// measureSnapshots reports the time of a snapshot, and the processor time, which does not
// depend on what else the machine does.
func measureSnapshots(b *testing.B, g *gate, args named) {
	b.Helper()
	var times []time.Duration
	gate, browser := cpuOfGate(b), cpuOfBrowsers(b)
	for b.Loop() {
		at := time.Now()
		g.must("snapshot", args)
		times = append(times, time.Since(at))
	}
	gate, browser = cpuOfGate(b)-gate, cpuOfBrowsers(b)-browser
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(gate.Microseconds())/1000/float64(len(times)), "gate-cpu-ms/op")
	b.ReportMetric(float64(browser.Microseconds())/1000/float64(len(times)), "browser-cpu-ms/op")
}

// cpuOfGate returns the processor time that this process has used.
func cpuOfGate(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// cpuOfBrowsers returns the processor time that the browsers of this process have used. It
// does not depend on what else the machine does.
func cpuOfBrowsers(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, pid := range browsersOfThisTest(b) {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		if err != nil {
			b.Fatal(err)
		}
		for _, file := range tasks {
			stat, _ := os.ReadFile(file) // A thread may have ended.
			ran, _, _ := strings.Cut(string(stat), " ")
			ns, _ := strconv.ParseInt(ran, 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}
