package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

// person answers questions when a test says so.
type person struct {
	open   openQuestions
	mu     sync.Mutex
	asked  []string // the ids of each question
	answer chan bool
}

func (p *person) ask(ctx context.Context) func(batch []sallyport.Approval) bool {
	return func(batch []sallyport.Approval) bool {
		var ids []string
		for i := range batch {
			ids = append(ids, batch[i].ID)
		}
		p.mu.Lock()
		p.asked = append(p.asked, strings.Join(ids, " "))
		p.mu.Unlock()
		select {
		case v := <-p.answer:
			return v
		case <-ctx.Done():
			return false
		}
	}
}

// call holds a call and returns what comes of it.
func (p *person) call(ctx context.Context, id string) <-chan bool {
	got := make(chan bool, 1)
	a := &sallyport.Approval{ID: id, Tool: "pay", Session: "s", Shape: &sallyport.ApprovalShape{Asked: "a", Args: map[string]string{"to": id}}}
	go func() { got <- p.open.askOnce(ctx, a, p.ask(ctx)) }()
	synctest.Wait()
	return got
}

// reply answers the open question.
func (p *person) reply(v bool) {
	p.answer <- v
	synctest.Wait()
}

func (p *person) want(t *testing.T, asked ...string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.asked, asked) {
		t.Errorf("asked = %q, want %q", p.asked, asked)
	}
}

// TestNothingIsAskedTwice: the same call joins the open question, others of the shape are
// the next one together, and a yes is for the calls that were shown.
func TestNothingIsAskedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, ctx := &person{answer: make(chan bool)}, t.Context()
		one, again := p.call(ctx, "one"), p.call(ctx, "one")
		two, three, twice := p.call(ctx, "two"), p.call(ctx, "three"), p.call(ctx, "two")
		p.want(t, "one")
		p.reply(true)
		if !<-one || !<-again {
			t.Error("a call that was shown did not get the yes")
		}
		select {
		case <-two:
			t.Fatal("a call that was not shown got the yes")
		default:
		}
		p.mu.Lock()
		second := strings.Fields(p.asked[len(p.asked)-1])
		p.mu.Unlock()
		if slices.Sort(second); !slices.Equal(second, []string{"three", "two"}) {
			t.Errorf("the second question is about %q, want both that waited, once", second)
		}
		late := p.call(ctx, "late")
		p.reply(false)
		if <-two || <-three || <-twice {
			t.Error("a no is not for all that were shown")
		}
		p.reply(true)
		if !<-late {
			t.Error("the call that came after the display was not asked about for itself")
		}
		if len(p.open.byKey) != 0 {
			t.Errorf("%d shapes are kept after their calls", len(p.open.byKey))
		}
	})
}

// TestACallThatGoesLeavesItsQuestionToTheOthers.
func TestACallThatGoesLeavesItsQuestionToTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &person{answer: make(chan bool)}
		short, cancel := context.WithCancel(t.Context())
		one, again := p.call(short, "one"), p.call(t.Context(), "one")
		gone, waits := p.call(short, "gone"), p.call(t.Context(), "waits")
		cancel()
		synctest.Wait()
		if <-one || <-gone {
			t.Error("a call that went got an answer")
		}
		p.reply(true)
		p.mu.Lock()
		last := p.asked[len(p.asked)-1]
		p.mu.Unlock()
		if strings.Contains(last, "gone") {
			t.Errorf("the question %q shows a call that has gone", last)
		}
		for len(again) == 0 || len(waits) == 0 {
			p.reply(true)
		}
		if !<-again || !<-waits {
			t.Error("a call that stayed got no answer")
		}
	})
}

func TestAQuestionShowsABoundedNumberOfCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &person{answer: make(chan bool)}
		first := p.call(t.Context(), "first")
		var rest []<-chan bool
		for i := range approvals.MaxBatch + 1 {
			rest = append(rest, p.call(t.Context(), fmt.Sprint(i)))
		}
		for range 3 {
			p.reply(true)
		}
		for _, got := range append(rest, first) {
			if !<-got {
				t.Error("a call got no answer")
			}
		}
		if len(p.asked) != 3 || len(strings.Fields(p.asked[1])) != approvals.MaxBatch {
			t.Errorf("asked %d questions, the second about %d calls", len(p.asked), len(strings.Fields(p.asked[1])))
		}
	})
}
