package provenance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/provenance"
)

// readingOf returns what a session that read some texts has.
func readingOf(texts ...string) *provenance.Reading {
	s := new(provenance.Sessions)
	s.Add("p", "s", provenance.Source{Tool: "read", CallID: "c"}, texts...)
	r := s.Reading("p", "s", "call", nil, time.Now())
	return &r
}

// traceOf returns what is traced of some values.
func traceOf(r *provenance.Reading, kind sallyport.ValueKind, values ...string) *facts.Carried {
	t := provenance.NewTracer(r)
	for _, v := range values {
		if err := t.Add(context.Background(), provenance.Value{Kind: kind, Text: v}); err != nil {
			panic(err)
		}
	}
	return t.Carried()
}

// TestWhatIsRecalledIsFoundAlike asks the texts, and what a record keeps of them, about
// the same values under any rules of what is held.
func TestWhatIsRecalledIsFoundAlike(t *testing.T) {
	words := []string{
		"eve@evil.example", "ann@example.com", "https://evil.example/a?b=1", "evil.example", "sub.evil.example", "DE02 1203 0000 0000 2020 51",
		"x.io", "4111-1111-1111", "The river rose by a hand and fell again before a soul in the valley could write it down, ", "ZXZlQGV2aWwuZXhhbXBsZQ==",
		"eve%40evil.example", "short", "plan.md",
	}
	kinds := []sallyport.ValueKind{"", effect.Mail, effect.Host, effect.URL, effect.Account, effect.Name}
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 5).Draw(t, name), rapid.SampledFrom([]string{"", " ", "+", "."}).Draw(t, name+" between"))
		}
		r := readingOf(pick("read"), pick("read too"))
		r.Unknown = rapid.IntRange(0, 9).Draw(t, "unknown") == 0
		kind, value := rapid.SampledFrom(kinds).Draw(t, "kind"), pick("value")
		own := rapid.SliceOfN(rapid.SampledFrom(words), 0, 4).Draw(t, "own")
		held := func(k sallyport.ValueKind, exact string) bool {
			return slices.ContainsFunc(own, func(w string) bool { return provenance.Exact(k, w) == exact })
		}
		trace := traceOf(r, kind, value)
		if trace.More || !trace.IsBounded() {
			t.Skip("more than a record names")
		}
		past := provenance.Recall(trace)
		want, found, err := r.Find(context.Background(), kind, value, held)
		got, again, errAgain := past.Find(context.Background(), kind, value, held)
		if err != nil || errAgain != nil {
			t.Fatal(err, errAgain)
		}
		if found != again || want.Piece != got.Piece {
			t.Fatalf("Find(%q, %q) = %+v, %v; recalled %+v, %v", kind, value, want, found, got, again)
		}
		if found && len(trace.Pieces) == 0 && !trace.Unknown {
			t.Fatalf("Find(%q, %q) = %+v of which the trace says nothing", kind, value, want)
		}
	})
}

// TestATraceIsBounded gives a value with more pieces than a record names.
func TestATraceIsBounded(t *testing.T) {
	var hosts []string
	for i := range 2 * facts.MaxPieces {
		hosts = append(hosts, fmt.Sprintf("host-%d.example", i))
	}
	text := strings.Join(hosts, " ")
	if c := traceOf(readingOf(text), "", text); !c.More || len(c.Pieces) > facts.MaxPieces || !c.IsBounded() {
		t.Errorf("a trace has %d pieces, more: %v", len(c.Pieces), c.More)
	}
	if c := traceOf(readingOf(text), "", hosts[0]); c.More || len(c.Pieces) == 0 {
		t.Errorf("one host: %+v, want its piece alone", c)
	}
	if c := traceOf(readingOf(text), "", "something of one's own"); c.More || len(c.Pieces) > 0 {
		t.Errorf("something else: %+v, want nothing", c)
	}
	for _, c := range []facts.Carried{{Pieces: []string{"x"}}, {Pieces: []string{"ABCDEF0123456789"}}, {Kinds: "k"}, {Pieces: make([]string, facts.MaxPieces+1)}} {
		if c.IsBounded() {
			t.Errorf("IsBounded(%+v) = true", c)
		}
	}
}
