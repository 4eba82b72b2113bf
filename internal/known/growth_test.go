package known_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/memory"
)

// clock is a clock that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newSettings(t *testing.T) store.Settings {
	t.Helper()
	s, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Settings()
}

// newSets returns the sets of a configuration over what a process knows of a state.
func newSets(t *testing.T, g *known.Growth) *known.Sets {
	t.Helper()
	sets, err := known.New(map[string]known.Source{
		"contacts": {Kind: effect.Mail, List: []string{"ann@example.com"}}, "partners": {Kind: effect.URL}, "texts": {Kind: effect.Text},
	}, g.Values)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

func wantHas(t *testing.T, sets *known.Sets, set, value string, want bool) {
	t.Helper()
	if ok, err := sets.Has(t.Context(), set, value); ok != want || err != nil {
		t.Errorf("Has(%s, %q) = %v, %v, want %v", set, value, ok, err, want)
	}
}

func TestASetGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	ctx, settings, c := t.Context(), newSettings(t), &clock{at: time.Now()}
	here, elsewhere := known.NewGrowth(settings, c.now), known.NewGrowth(settings, c.now)
	sets, others := newSets(t, here), newSets(t, elsewhere)
	wantHas(t, others, "contacts", "bob@example.com", false)
	m := known.Member{Value: "Bob@Example.com", Kind: effect.Mail, By: "local", Reason: "met", Approval: "a1", Given: c.now().UTC()}
	if added, err := here.Add(ctx, "contacts", m); !added || err != nil {
		t.Fatalf("Add() = %v, %v", added, err)
	}
	if added, err := elsewhere.Add(ctx, "contacts", known.Member{Value: "mailto:bob@example.com", Kind: effect.Mail}); added || err != nil {
		t.Errorf("Add() of the same value = %v, %v, want that it is there", added, err)
	}
	wantHas(t, sets, "contacts", "bob@example.com", true)
	wantHas(t, sets, "contacts", "ann@example.com", true)
	wantHas(t, sets, "partners", "bob@example.com", false)
	c.advance(time.Second)
	wantHas(t, others, "contacts", "BOB@example.com", true)
	if ok, err := others.Holds(ctx, effect.Mail, "bob@example.com"); !ok || err != nil {
		t.Errorf("Holds() = %v, %v, want the member", ok, err)
	}
	list, err := elsewhere.Members(ctx, "contacts")
	if err != nil || len(list) != 1 || list[0] != m {
		t.Errorf("Members() = %+v, %v, want %+v", list, err, m)
	}
	gone, err := here.Remove(ctx, "contacts", func(m *known.Member) bool { return m.Approval == "a1" })
	if err != nil || len(gone) != 1 {
		t.Fatalf("Remove() = %v, %v, want the member", gone, err)
	}
	wantHas(t, sets, "contacts", "bob@example.com", false)
	c.advance(time.Second)
	wantHas(t, others, "contacts", "bob@example.com", false)
}

// TestAnotherKindOfSetForgetsItsMembers, which were compared in another way.
func TestAnotherKindOfSetForgetsItsMembers(t *testing.T) {
	t.Parallel()
	g := known.NewGrowth(newSettings(t), nil)
	if _, err := g.Add(t.Context(), "partners", known.Member{Value: "a.example", Kind: effect.Host}); err != nil {
		t.Fatal(err)
	}
	wantHas(t, newSets(t, g), "partners", "a.example", false)
}

func TestAPieceOfAGrownTextIsHeld(t *testing.T) {
	t.Parallel()
	g := known.NewGrowth(newSettings(t), nil)
	whole := strings.Repeat("the quick brown fox jumps over the lazy dog, and so on; ", 3)
	if _, err := g.Add(t.Context(), "texts", known.Member{Value: whole, Kind: effect.Text}); err != nil {
		t.Fatal(err)
	}
	sets := newSets(t, g)
	for piece, want := range map[string]bool{whole[4:100]: true, strings.Repeat("x", 80): false} {
		if ok, err := sets.Holds(t.Context(), effect.Text, provenance.Fold(piece)); ok != want || err != nil {
			t.Errorf("Holds(%q) = %v, %v, want %v", piece, ok, err, want)
		}
	}
}

func TestGrowthIsBounded(t *testing.T) {
	t.Parallel()
	settings := newSettings(t)
	g := known.NewGrowth(settings, nil)
	for _, value := range []string{"", " ", strings.Repeat("x", known.MaxValue+1)} {
		if added, err := g.Add(t.Context(), "partners", known.Member{Value: value, Kind: effect.URL}); added || err == nil {
			t.Errorf("Add(%.10q) = %v, %v, want an error", value, added, err)
		}
	}
	var full strings.Builder
	for n := range known.MaxGrown {
		fmt.Fprintf(&full, `,{"value":"a.example/%d","kind":"url","by":"b","approval":"c","given":"2026-01-01T00:00:00Z"}`, n)
	}
	if err := settings.Put(t.Context(), "known.partners", "["+full.String()[1:]+"]"); err != nil {
		t.Fatal(err)
	}
	wantHas(t, newSets(t, g), "partners", "https://a.example/9999", true)
	if added, err := g.Add(t.Context(), "partners", known.Member{Value: "one.more", Kind: effect.URL}); added || err == nil || !strings.Contains(err.Error(), "the most") {
		t.Errorf("Add() to a full set = %v, %v, want an error", added, err)
	}
}

func TestMembersThatCannotBeReadCountForNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `[{"value":"b@example.com","kind":"mail","until":"noon"}]`, `[`} {
		settings := newSettings(t)
		if err := settings.Put(t.Context(), "known.contacts", text); err != nil {
			t.Fatal(err)
		}
		g := known.NewGrowth(settings, nil)
		if ok, err := newSets(t, g).Has(t.Context(), "contacts", "b@example.com"); ok || !errors.Is(err, known.ErrUnreadable) {
			t.Errorf("Has() with %s = %v, %v, want %v", text, ok, err, known.ErrUnreadable)
		}
		if _, err := g.Add(t.Context(), "contacts", known.Member{Value: "c@example.com", Kind: effect.Mail}); !errors.Is(err, known.ErrUnreadable) {
			t.Errorf("Add() with %s = %v, want %v", text, err, known.ErrUnreadable)
		}
	}
}

func TestTwoProcessesGrowOneSet(t *testing.T) {
	t.Parallel()
	settings := newSettings(t)
	var both sync.WaitGroup
	for n := range 4 {
		g := known.NewGrowth(settings, nil)
		both.Go(func() {
			for i := range 10 {
				if _, err := g.Add(context.WithoutCancel(t.Context()), "partners", known.Member{Value: fmt.Sprintf("a.example/%d/%d", n, i), Kind: effect.URL}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	if list, err := known.NewGrowth(settings, nil).Members(t.Context(), "partners"); err != nil || len(list) != 40 {
		t.Errorf("Members() = %d, %v, want all 40", len(list), err)
	}
}
