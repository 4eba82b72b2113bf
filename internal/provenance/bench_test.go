package provenance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/provenance"
)

// BenchmarkFind looks for ten arguments, none of which was read, in what a session
// read: 64 KiB of text.
func BenchmarkFind(b *testing.B) {
	m := new(provenance.Memory)
	for i := 0; i < 64<<10; i += 1 << 10 {
		m.Add(provenance.Source{Tool: "read", CallID: "c"}, textOf(1<<10, i))
	}
	if m.Flooded() {
		b.Fatal("64 KiB flood the memory")
	}
	args := []struct {
		kind  sallyport.ValueKind
		value string
	}{
		{effect.Mail, "ann@example.com"},
		{"", "Weekly report of the team"},
		{"", "2026-11-26"},
		{"", "high"},
		{"", "42"},
		{"", "The meeting is moved to Thursday at ten; please bring the plan for the next quarter and your questions."},
		{effect.URL, "https://intranet.example.com/reports/17"},
		{"", "Europe/Berlin"},
		{"", "notes/plan.md"},
		{"", "See you there"},
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, a := range args {
			if match, found := m.Find(a.kind, a.value, nil); found {
				b.Fatal(match)
			}
		}
	}
}

// BenchmarkAdd remembers a result of 16 KiB.
func BenchmarkAdd(b *testing.B) {
	text := textOf(16<<10, 1)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		new(provenance.Memory).Add(provenance.Source{}, text)
	}
}

// textOf returns prose of a length that no other number gives.
func textOf(bytes, number int) string {
	var b strings.Builder
	for i := 0; b.Len() < bytes; i++ {
		fmt.Fprintf(&b, "Sentence %x of page %x says that the river rose by a hand and fell again. ", i*7919+number, number)
	}
	return b.String()[:bytes]
}
