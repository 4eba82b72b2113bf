package approvals

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

// watched is a person before the calls of a queue.
type watched struct {
	queue    *Queue
	settings settings
	keys     chan byte
	said     []string
	done     chan error
}

// startWatch watches in a goroutine of its own.
func startWatch(ctx context.Context, keys chan byte) *watched {
	p := &watched{queue: New(nil), settings: settings{}, keys: keys, done: make(chan error, 1)}
	w := &Watch{
		List: func(ctx context.Context) ([]sallyport.Approval, error) { return p.queue.List(ctx, false) },
		Decide: func(ctx context.Context, a *sallyport.Approval, approve bool) (waits bool, err error) {
			return false, p.queue.Decide(ctx, a.ID, "ann", approve, "")
		},
		Settings: p.settings, Keys: keys,
		ShowRule: func(r *Rule) { p.said = append(p.said, r.ID+" for the session?") },
		Give: func(_ context.Context, a *sallyport.Approval, r *Rule) error {
			return p.queue.YieldToRule(ctx, a.ID, "ann", r.ID, "")
		},
		ShowAlways: func(a *sallyport.Approval) func(context.Context) error {
			p.said = append(p.said, a.ID+" for always?")
			return func(ctx context.Context) error { return p.queue.Decide(ctx, a.ID, "ann", true, "") }
		},
		Show: func(batch []sallyport.Approval, ask bool) {
			ids := make([]string, len(batch))
			for i := range batch {
				ids[i] = batch[i].ID
			}
			p.said = append(p.said, fmt.Sprintf("%s? %t", strings.Join(ids, " "), ask))
		},
		Tell: func(a *sallyport.Approval, what string) { p.said = append(p.said, a.ID+" "+what) },
	}
	go func() { p.done <- w.Run(ctx) }()
	return p
}

func (p *watched) hold(t *testing.T, id string, shape *sallyport.ApprovalShape) {
	t.Helper()
	now := time.Now()
	_, err := p.queue.Ask(t.Context(), sallyport.Approval{
		ID: id, Digest: "d" + id, Tool: "t", Principal: "p", Created: now, Expires: now.Add(time.Hour), Shape: shape,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// press waits until a person could have read what is shown, and presses a key.
func (p *watched) press(key byte) {
	time.Sleep(time.Second)
	p.keys <- key
	synctest.Wait()
}

func TestAPersonAnswersEachShownCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startWatch(t.Context(), make(chan byte))
		for _, id := range []string{"one", "two", "three", "four"} {
			p.hold(t, id, nil)
		}
		p.press('y')
		p.keys <- 'y' // pressed twice
		p.press('n')
		p.press('x')
		p.press('s')
		if err := p.queue.Decide(t.Context(), "four", "bob", true, ""); err != nil {
			t.Fatal(err)
		}
		p.press('y')
		if on, _ := Watched(t.Context(), p.settings, time.Now()); !on {
			t.Error("a person who can answer does not count as connected")
		}
		p.press('q')
		if err := <-p.done; err != nil {
			t.Fatal(err)
		}
		want := []string{
			"one? true", "one approved, for one run", "two? true", "two denied", "three? true", "three left as it is",
			"four? true", "four decided elsewhere, or over",
		}
		if diff := cmp.Diff(want, p.said); diff != "" {
			t.Error(diff)
		}
		if on, _ := Watched(t.Context(), p.settings, time.Now()); on {
			t.Error("a person who left still counts as connected")
		}
		for id, want := range map[string]sallyport.ApprovalState{"one": "approved", "two": "denied", "three": "pending"} {
			if a, err := p.queue.Get(t.Context(), id); a.State != want || err != nil {
				t.Errorf("%s is %s, %v, want %s", id, a.State, err, want)
			}
		}
	})
}

func TestWhoOnlyLooksDoesNotCountAsConnected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := startWatch(ctx, nil)
		p.hold(t, "one", nil)
		p.hold(t, "two", nil)
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"one? false", "two? false"}, p.said); diff != "" {
			t.Error(diff)
		}
		if on, _ := Watched(ctx, p.settings, time.Now()); on {
			t.Error("it counts as connected")
		}
		cancel()
		if err := <-p.done; err != nil {
			t.Errorf("Run() = %v, want the end of the context to be no error", err)
		}
	})
}

func TestAPersonSeesTheRuleBeforeGivingIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startWatch(t.Context(), make(chan byte))
		for _, id := range []string{"one", "two", "three"} {
			p.hold(t, id, &sallyport.ApprovalShape{Asked: id})
		}
		p.hold(t, "four", nil) // names no session
		p.press('a')
		p.keys <- 'y' // pressed too early
		p.press('y')
		p.press('a')
		p.press('n') // no rule, and no decision
		p.press('y')
		p.press('a')
		if err := p.queue.Decide(t.Context(), "three", "bob", false, ""); err != nil {
			t.Fatal(err)
		}
		p.press('a')
		p.press('n')
		p.press('q')
		if err := <-p.done; err != nil {
			t.Fatal(err)
		}
		want := []string{
			"one? true", "one for the session?", "one allowed for the session",
			"two? true", "two for the session?", "two? true", "two approved, for one run",
			"three? true", "three for the session?", "three decided elsewhere, or over",
			"four? true", "four this call cannot be allowed for its session: it names none, has too many arguments, or has names that cannot be shown", "four denied",
		}
		if diff := cmp.Diff(want, p.said); diff != "" {
			t.Error(diff)
		}
		for id, want := range map[string]sallyport.ApprovalState{"one": "used", "two": "approved", "three": "denied", "four": "denied"} {
			if a, err := p.queue.Get(t.Context(), id); a.State != want || err != nil {
				t.Errorf("%s is %s, %v, want %s", id, a.State, err, want)
			}
		}
	})
}

func TestAPersonSeesWhatIsGivenForAlways(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startWatch(t.Context(), make(chan byte))
		for _, id := range []string{"one", "two", "three"} {
			p.hold(t, id, &sallyport.ApprovalShape{Asked: id})
		}
		p.press('l')
		p.keys <- 'y' // pressed too early
		p.press('a')  // the other question is not asked now
		p.press('y')
		p.press('l')
		p.press('n') // nothing for always, and no decision
		p.press('n')
		p.press('l')
		if err := p.queue.Decide(t.Context(), "three", "bob", false, ""); err != nil {
			t.Fatal(err)
		}
		p.press('q')
		if err := <-p.done; err != nil {
			t.Fatal(err)
		}
		want := []string{
			"one? true", "one for always?", "one allowed for always",
			"two? true", "two for always?", "two? true", "two denied",
			"three? true", "three for always?", "three decided elsewhere, or over",
		}
		if diff := cmp.Diff(want, p.said); diff != "" {
			t.Error(diff)
		}
		for id, want := range map[string]sallyport.ApprovalState{"one": "approved", "two": "denied", "three": "denied"} {
			if a, err := p.queue.Get(t.Context(), id); a.State != want || err != nil {
				t.Errorf("%s is %s, %v, want %s", id, a.State, err, want)
			}
		}
	})
}

// TestOneAnswerIsForTheCallsThatWereShownTogether, and never for later ones of the shape.
func TestOneAnswerIsForTheCallsThatWereShownTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := startWatch(t.Context(), make(chan byte))
		shape := func(to string) *sallyport.ApprovalShape {
			return &sallyport.ApprovalShape{Asked: "a", Touches: "t", Args: map[string]string{"to": to}}
		}
		for _, id := range []string{"one", "two", "three"} {
			p.hold(t, id, shape(id))
		}
		time.Sleep(time.Second)
		p.hold(t, "later", shape("later"))
		p.hold(t, "last", shape("last"))
		p.press('a')
		if err := p.queue.Decide(t.Context(), "two", "bob", false, ""); err != nil {
			t.Fatal(err)
		}
		p.press('y')
		p.press('n')
		p.press('q')
		if err := <-p.done; err != nil {
			t.Fatal(err)
		}
		want := []string{
			"one two three? true", "one a wider yes is for one call: approvals approve ID with --session or --always gives it",
			"two decided elsewhere, or over", "one approved, for one run", "three approved, for one run",
			"later last? true", "later denied", "last denied",
		}
		if diff := cmp.Diff(want, p.said); diff != "" {
			t.Error(diff)
		}
		for id, want := range map[string]sallyport.ApprovalState{"one": sallyport.ApprovalApproved, "two": sallyport.ApprovalDenied, "later": sallyport.ApprovalDenied} {
			if a, err := p.queue.Get(t.Context(), id); err != nil || a.State != want {
				t.Errorf("%s is %s, %v, want %s", id, a.State, err, want)
			}
		}
	})
}
