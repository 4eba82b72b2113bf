package provenance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/provenance"
)

// patience is a context that ends after some looks at it.
type patience struct {
	context.Context
	left, after int // after counts the looks since it ended
}

func (p *patience) Err() error {
	if p.left--; p.left >= 0 {
		return nil
	}
	p.after++
	return context.DeadlineExceeded
}

// manySessions is a principal with some sessions, each of which read a page.
func manySessions(n int) *provenance.Sessions {
	s := new(provenance.Sessions)
	for i := range n {
		read(s, "p", fmt.Sprint("s", i), fmt.Sprint("c", i), fmt.Sprintf("page %d says hello", i))
	}
	return s
}

const filler = "lorem ipsum dolor sit amet consectetur 12345678 a@b.example "

// TestASearchEndsWithItsCall: it ends at the look that says so, in a value and between values,
// and what it says of the value is no answer.
func TestASearchEndsWithItsCall(t *testing.T) {
	t.Parallel()
	s := manySessions(100)
	for name, values := range map[string][]string{
		"one long value": {strings.Repeat(filler, 1<<11)},
		"many values":    make([]string, 1<<18),
		"no ASCII":       {strings.Repeat("\ufdfa\uff41", 1<<14)},
	} {
		for _, looks := range []int{0, 1, 2} {
			ctx := &patience{Context: t.Context(), left: looks}
			r := s.Reading("p", "fresh", "x", nil, time.Now())
			r.Unknown = name == "many values" // all that is looked at takes no memory of them
			var err error
			for _, value := range values {
				var found bool
				if _, found, err = r.Find(ctx, "", value, func(sallyport.ValueKind, string) bool { return true }); found {
					t.Fatalf("%s: something was found", name)
				}
				if err != nil {
					break
				}
			}
			if !errors.Is(err, context.DeadlineExceeded) || ctx.after != 1 {
				t.Errorf("%s: after %d looks: %v, and %d looks more", name, looks, err, ctx.after-1)
			}
			if _, found, err := r.Find(t.Context(), "", "page 1 says hello", nil); found || err == nil {
				t.Errorf("%s: found %v, %v, want the same error", name, found, err)
			}
		}
	}
	r := s.Reading("p", "fresh", "x", nil, time.Now())
	tracer := provenance.NewTracer(&r)
	err := tracer.Add(&patience{Context: t.Context(), left: 2}, provenance.Value{Text: strings.Repeat(filler, 1<<11)})
	if !errors.Is(err, context.DeadlineExceeded) || tracer.FoundNothing() {
		t.Errorf("a trace that ended: %v, found nothing: %v", err, tracer.FoundNothing())
	}
}

// TestOfManySessionsNotAllAreLookedInto: every value may have come from those that are not.
func TestOfManySessionsNotAllAreLookedInto(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := manySessions(provenance.MaxOthers)
		if found, flooded := finds(s, "p", "fresh", "x", markOf("c1"), "ann@example.com"); found || flooded {
			t.Errorf("found %v, flooded %v, want neither", found, flooded)
		}
		read(s, "p", "one more", "c", "Write to "+eve)
		if found, flooded := finds(s, "p", "one more", "x", markOf("c1"), "ann@example.com"); found || flooded {
			t.Errorf("its own session counts as another: found %v, flooded %v", found, flooded)
		}
		r := s.Reading("p", "fresh", "x", nil, time.Now())
		if match, found, err := r.Find(t.Context(), "", eve, nil); !found || err != nil || match.Source.CallID != "c" {
			t.Errorf("what was read last is not named: %+v, %v, %v", match, found, err)
		}
		if found, flooded := finds(s, "p", "fresh", "x", nil, "ann@example.com"); !found || !flooded {
			t.Errorf("found %v, flooded %v, want both", found, flooded)
		}
		// It is not known whether the first call is one of this process.
		r = s.Reading("p", "fresh", "x", []sallyport.FactMark{{Fact: sallyport.FactUntrusted, CallID: "c0", Time: time.Now()}}, time.Now())
		if !r.Unknown || r.Elsewhere != "" {
			t.Errorf("the first call counts as known, or as one of another process: %+v", r.Elsewhere)
		}
		time.Sleep(sallyport.PrincipalFactAge + 2*sallyport.FactStep)
		read(s, "p", "later", "c", "nothing of interest")
		if found, flooded := finds(s, "p", "fresh", "x", nil, "ann@example.com"); found || flooded {
			t.Errorf("later: found %v, flooded %v, want neither", found, flooded)
		}
	})
}

// TestWhatTakesTooLongIsNotLookedFor, and counts as what came out of untrusted content, unless
// it is held.
func TestWhatTakesTooLongIsNotLookedFor(t *testing.T) {
	t.Parallel()
	s := manySessions(1)
	r := s.Reading("p", "fresh", "x", nil, time.Now())
	value := strings.Repeat("x", provenance.MaxWork/8)
	values, found := 0, false
	for ; !found && values < 9; values++ {
		_, found, _ = r.Find(t.Context(), "", value, nil)
	}
	if !found || values < 4 || !r.Flooded() {
		t.Errorf("after %d values: found %v, flooded %v", values, found, r.Flooded())
	}
	if _, found, err := r.Find(t.Context(), "", "anything", func(sallyport.ValueKind, string) bool { return true }); found || err != nil {
		t.Errorf("what is held: found %v, %v", found, err)
	}
	tracer := provenance.NewTracer(&r)
	if err := tracer.Add(t.Context(), provenance.Value{Text: "anything"}); err != nil || tracer.FoundNothing() || !tracer.Carried().Unknown || !tracer.Carried().More {
		t.Errorf("a trace: %v, %+v, want that more may be in it", err, tracer.Carried())
	}
}

// TestASearchLetsOthersRead: while it is asked what is held, which takes any time, the session
// reads more.
func TestASearchLetsOthersRead(t *testing.T) {
	t.Parallel()
	s := new(provenance.Sessions)
	read(s, "p", "s", "c1", "Write to "+eve)
	r := s.Reading("p", "s", "x", nil, time.Now())
	match, found, err := r.Find(t.Context(), "", eve, func(sallyport.ValueKind, string) bool {
		read(s, "p", "s", "c2", "or to another place")
		s.Flood("p", "s")
		return false
	})
	if !found || err != nil || match.Source.CallID != "c1" {
		t.Errorf("Find = %+v, %v, %v", match, found, err)
	}
}

// TestWhatIsAddedLeavesASearchAlone reads and searches at once, for the race detector.
func TestWhatIsAddedLeavesASearchAlone(t *testing.T) {
	t.Parallel()
	s := new(provenance.Sessions)
	read(s, "p", "s", "c", "Write to "+eve)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 100 {
				if i%2 == 0 {
					read(s, "p", "s", "c", fmt.Sprintf("page %d of %d", n, i))
				} else if found, _ := finds(s, "p", "s", "c", nil, eve); !found {
					t.Error("what was read first is not found")
				}
			}
		})
	}
	all.Wait()
	if found, _ := finds(s, "p", "s", "c", nil, "page 99 of 2"); !found {
		t.Error("what was read last is not found")
	}
}
