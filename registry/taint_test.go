package registry_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
)

// TestAttackGitHubToxicFlow: an issue that a stranger wrote makes the agent copy
// a private repository into a public one, through one server.
func TestAttackGitHubToxicFlow(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, nil)
	f.let("p", "s", "mcp__trivia__fact", "mcp__github__get_file", "mcp__github__get_file")
	res := f.hold("p", "s", "mcp__github__create_pr")
	if !strings.Contains(res.Error, "because private data and untrusted content were read before") {
		t.Errorf("error = %q, want the reason", res.Error)
	}
	d := f.recorder.last().Decisions
	last := d[len(d)-1]
	for _, want := range []string{"mcp__github__get_file in the session, call ", "approval " + res.ApprovalID} {
		if !strings.Contains(last.Why, want) {
			t.Errorf("why = %q, want it to hold %q", last.Why, want)
		}
	}
	if last.Step != sallyport.StepApprove || last.Source != "sallyport.yaml:9:7" || !strings.Contains(last.Fix, "add mcp__github__create_pr to personalities.role.safety.flow.allow") {
		t.Errorf("decision = %+v, want the rule's place and what would change it", last)
	}
	a, err := f.approvals.Get(t.Context(), res.ApprovalID)
	if err != nil || !strings.Contains(a.Why, "private data (mcp__github__get_file in the session, call ") {
		t.Errorf("request = %+v, %v, want the calls that led there", a, err)
	}
	if err := f.approvals.Decide(t.Context(), res.ApprovalID, "boss", true, ""); err != nil {
		t.Fatal(err)
	}
	f.let("p", "s", "mcp__github__create_pr")
	f.hold("p", "s", "mcp__github__create_pr")
}

// TestAttackPostmarkBCC: a server that mails for the agent is asked about when
// there is something to steal and a stranger who may have asked for it.
func TestAttackPostmarkBCC(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, nil)
	f.let("p", "s", "read_file", "mcp__postmark__send")
	f.hold("p", "s", "mcp__postmark__send")
}

// TestAttackWhatsAppRugPull and MCPTox: a server that reaches nothing only
// answers, and its words make the agent use what it was granted.
func TestAttackWhatsAppRugPullAndMCPTox(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, nil)
	f.let("p", "s", "mcp__trivia__fact", "send") // nothing private was read yet
	f.let("p", "s", "read_file")
	f.hold("p", "s", "send")
	f.hold("p", "s", "export")
	f.let("p", "s", "note", "write_file", "fetch_url", "mcp__trivia__fact", "read_file")
}

// TestAttackUploadByName: a page tells the agent to have a tool send a file, or
// a server change what is public, before either has read anything private.
func TestAttackUploadByName(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"upload", "mcp__github__create_pr"} {
		f := newFlows(t, nil, nil)
		f.let("p", "before", tool)
		f = newFlows(t, nil, nil)
		f.let("p", "s", "fetch_url")
		res := f.hold("p", "s", tool)
		a, err := f.approvals.Get(t.Context(), res.ApprovalID)
		if err != nil || !strings.Contains(a.Why, "it may itself read private data, and carry data out") {
			t.Errorf("request = %+v, %v, want that the call itself reads", a, err)
		}
		if strings.Contains(res.Error, "private data") {
			t.Errorf("error = %q, want nothing of what was not read before", res.Error)
		}
	}
}

func TestOrdinaryReadingIsNotHeld(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, nil)
	for range 3 {
		f.let("p", "s", "read_file", "fetch_url", "write_file", "mcp__github__get_file", "mcp__files__edit", "mcp__trivia__fact")
	}
}

func TestAnotherSessionOfThePrincipalCounts(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, nil)
	f.let("p", "s1", "read_file")
	f.let("p", "", "mcp__trivia__fact")
	f.hold("p", "s3", "send")
	f.hold("p", "", "send")
	f.let("q", "s1", "send")
	f.let("q", "", "send")
}

// TestFactsFade: those of the session stay, those of the principal's other
// sessions end when it was idle.
func TestFactsFade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlows(t, nil, nil)
		f.let("p", "before", "read_file", "mcp__trivia__fact")
		f.let("p", "s", "read_file", "mcp__trivia__fact")
		// A principal that goes on is not idle.
		for range 3 {
			time.Sleep(sallyport.PrincipalFactAge - time.Minute)
			f.let("p", "other", "read_file", "mcp__trivia__fact")
		}
		f.hold("p", "new", "send")
		time.Sleep(sallyport.PrincipalFactAge + sallyport.FactStep)
		f.let("p", "new", "send")
		f.hold("p", "s", "send")
		time.Sleep(sallyport.SessionFactAge)
		f.let("p", "s", "send")
	})
}

// TestACallUnderWayCounts: what a stranger sends is there before the call that
// fetched it has ended.
func TestACallUnderWayCounts(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, nil)
	f.let("p", "s", "read_file")
	d := &during{begun: make(chan struct{}), end: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c := f.caller()
		c.Principal.Name = "p"
		f.Call(context.WithValue(t.Context(), during{}, d), c, sallyport.Request{Tool: "mcp__trivia__fact"})
	}()
	<-d.begun
	f.hold("p", "s", "send")
	close(d.end)
	<-ended
}

// noting is a store that puts a fact between the look of a call and its note,
// as another call of the same moment does.
type noting struct {
	sallyport.FactStore
	once atomic.Bool
}

func (n *noting) Note(ctx context.Context, principal, session string, marks []sallyport.FactMark) ([]sallyport.FactMark, error) {
	if n.once.CompareAndSwap(true, false) {
		both := []sallyport.FactMark{
			{Fact: sallyport.FactPrivate, Tool: "read_file", CallID: "c1", Time: time.Now()},
			{Fact: sallyport.FactUntrusted, Tool: "fetch_url", CallID: "c2", Time: time.Now()},
		}
		if _, err := n.FactStore.Note(ctx, principal, session, both); err != nil {
			return nil, err
		}
	}
	return n.FactStore.Note(ctx, principal, session, marks)
}

func TestOfTwoCallsAtOnceOneSeesTheOther(t *testing.T) {
	t.Parallel()
	m, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := &noting{FactStore: m.Facts()}
	n.once.Store(true)
	f := newFlows(t, n, nil)
	f.hold("p", "s", "send")
}

func TestAKeptResultBringsWhatItBrought(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFlows(t, nil, nil)
		f.let("p", "s", "fetch_url")
		time.Sleep(2 * sallyport.FactStep)
		f.let("p", "s", "fetch_url")
		if n := f.ran["fetch_url"].Load(); n != 1 {
			t.Fatalf("fetch_url ran %d times, want the kept result", n)
		}
		f.let("p", "s", "read_file")
		a := f.hold("p", "s", "send")
		held, err := f.approvals.Get(t.Context(), a.ApprovalID)
		if err != nil {
			t.Fatal(err)
		}
		if id := f.recorder.events[len(f.recorder.events)-1].CallID; strings.Contains(held.Why, id) {
			t.Errorf("why = %q names the held call itself", held.Why)
		}
		var second string
		for _, e := range f.recorder.events {
			if e.Cached {
				second = e.CallID
			}
		}
		if second == "" || !strings.Contains(held.Why, second) {
			t.Errorf("why = %q, want the call %s that a kept result answered", held.Why, second)
		}
	})
}

// TestFactsOutliveTheProcess: two gates over one state file are two processes,
// and one after the other a restart.
func TestFactsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	gate := func() *flows {
		db, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return newFlows(t, db.Facts(), nil)
	}
	a, b := gate(), gate()
	a.let("p", "s", "read_file", "send")
	b.let("p", "s", "mcp__trivia__fact")
	a.hold("p", "s", "send")
	gate().hold("p", "other", "send")
}

// brokenFacts is a store that fails while it is.
type brokenFacts struct {
	sallyport.FactStore
	now atomic.Bool
}

func (b *brokenFacts) Facts(ctx context.Context, principal, session string) ([]sallyport.FactMark, error) {
	if b.now.Load() {
		return nil, errors.New("the disk is gone")
	}
	return b.FactStore.Facts(ctx, principal, session)
}

func (b *brokenFacts) Note(ctx context.Context, principal, session string, marks []sallyport.FactMark) ([]sallyport.FactMark, error) {
	if b.now.Load() {
		return nil, errors.New("the disk is gone")
	}
	return b.FactStore.Note(ctx, principal, session, marks)
}

// TestWithoutItsStoreNothingGoesOut: what only reads goes on, and is not
// forgotten when the store is back.
func TestWithoutItsStoreNothingGoesOut(t *testing.T) {
	t.Parallel()
	m, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &brokenFacts{FactStore: m.Facts()}
	f := newFlows(t, b, nil)
	b.now.Store(true)
	res := f.stop("p", "s", "send", sallyport.CodeNotAvailable)
	if strings.Contains(res.Error, "disk") {
		t.Errorf("error = %q tells what the store said", res.Error)
	}
	f.let("p", "s", "read_file", "mcp__trivia__fact", "note")
	b.now.Store(false)
	f.hold("p", "s", "send")
	f.let("q", "s", "send")
}
