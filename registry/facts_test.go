package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
)

// flows is a gate with the tools of the attacks: what reads, what brings
// the words of others, and what carries out.
type flows struct {
	*gate
	approvals sallyport.ApprovalStore
	role      *sallyport.Personality
	ran       map[string]*atomic.Int32
}

// during, when a tool's arguments name it, runs while the tool does.
type during struct {
	begun, end chan struct{}
}

// host is a capability that reaches one.
func host(name string) *sallyport.NetworkCapability {
	return &sallyport.NetworkCapability{AllowedHosts: []string{name}}
}

// attackTools are those of a private repository, of a stranger's issue, and the
// ways out.
func attackTools() []sallyport.Tool {
	account := sallyport.Capabilities{Network: host("api.github.example"), Secrets: []string{"github/token"}}
	return []sallyport.Tool{
		{Name: "read_file", ReadOnly: true, Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}}},
		{Name: "write_file", Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Write: sallyport.Paths("${workspace}")}}},
		{Name: "export", Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Write: sallyport.Paths("${home}")}}},
		{Name: "fetch_url", ReadOnly: true, Cache: &sallyport.Cache{}, Capabilities: sallyport.Capabilities{Network: host("docs.example")}},
		{Name: "send", Toolset: "out", Capabilities: sallyport.Capabilities{Network: host("api.example")}},
		{Name: "note", Toolset: "out"},
		{Name: "upload", Capabilities: sallyport.Capabilities{
			FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}, Network: host("api.example"),
		}},
		{Name: "mcp__github__get_file", SaysReadOnly: true, Capabilities: account},
		{Name: "mcp__github__create_pr", Capabilities: account},
		{Name: "mcp__trivia__fact"},
		{Name: "mcp__files__edit", Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{
			Read: sallyport.FromPersonality(), Write: sallyport.Paths("${workspace}"),
		}}},
		{Name: "mcp__postmark__send", Capabilities: sallyport.Capabilities{Network: host("api.postmark.example")}},
	}
}

func newFlows(t *testing.T, facts sallyport.FactStore, edit func(*sallyport.Personality)) *flows {
	t.Helper()
	work, outside := t.TempDir(), t.TempDir()
	p := &sallyport.Personality{
		Name: "role", MCPServers: []string{"github", "trivia", "postmark", "files"}, Approvals: &sallyport.Approvals{},
		FSReach: &sallyport.Reach{Read: []string{work}, Write: []string{work, outside}},
		Sources: map[string]string{"": "sallyport.yaml:3:3", "safety.flow": "sallyport.yaml:9:7"},
	}
	if edit != nil {
		edit(p)
	}
	f := &flows{
		gate: &gate{t: t, recorder: &recorder{}, role: p.Name}, role: p,
		approvals: memory.NewApprovals(nil), ran: map[string]*atomic.Int32{},
	}
	var err error
	f.Registry, err = registry.New(&sallyport.Backends{
		Personalities: one{p}, Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()},
		Secrets: fixedSecrets{"github/token": "hunter2-Zq9xY7w"},
	}, &registry.Options{Recorder: f.recorder, Workspace: work, Approvals: f.approvals, Facts: facts, Variables: map[string]string{"home": outside}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, tool := range attackTools() {
		ran := &atomic.Int32{}
		f.ran[tool.Name] = ran
		tool.Schema = open
		tool.Run = func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
			ran.Add(1)
			if d, ok := ctx.Value(during{}).(*during); ok {
				close(d.begun)
				<-d.end
			}
			return sallyport.OK("ran"), nil
		}
		f.add(tool)
	}
	return f
}

// by makes a call of a principal in a session.
func (f *flows) by(principal, session, tool string) sallyport.Result {
	c := f.caller()
	c.Principal.Name, c.Session, c.Platform = principal, session, sallyport.PlatformMCP
	return f.Call(f.t.Context(), c, sallyport.Request{Tool: tool, Args: json.RawMessage(`{"n":1}`)})
}

// let makes calls that must run.
func (f *flows) let(principal, session string, tools ...string) {
	f.t.Helper()
	for _, tool := range tools {
		before := f.ran[tool].Load()
		if res := f.by(principal, session, tool); !res.OK || f.ran[tool].Load() == before && tool != "fetch_url" {
			f.t.Fatalf("%s of %s in %s = %+v, want it to run", tool, principal, session, res)
		}
	}
}

// stop makes a call that must be refused with a code, and not run.
func (f *flows) stop(principal, session, tool string, code sallyport.Code) sallyport.Result {
	f.t.Helper()
	before := f.ran[tool].Load()
	res := f.by(principal, session, tool)
	if res.OK || res.Code != code || f.ran[tool].Load() != before {
		f.t.Fatalf("%s of %s in %s = %+v, want %s and no run", tool, principal, session, res, code)
	}
	return res
}

func (f *flows) hold(principal, session, tool string) sallyport.Result {
	f.t.Helper()
	return f.stop(principal, session, tool, sallyport.CodeApprovalRequired)
}

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
		if err != nil || !strings.HasPrefix(a.Why, "it may itself read private data, and carry data out") {
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
