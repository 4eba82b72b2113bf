package registry_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/sqlite"
)

// The moments at which a process dies.
const (
	never = iota
	beforeIntent
	afterIntent
	beforeOutcome // the tool has run
	afterOutcome
	moments
)

// mortal is a recorder whose process dies at a moment: what was written until then
// is there, and nothing else of it.
type mortal struct {
	registry.Recorder
	dies int
	// late writes what a call brings with its outcome, after the tool has run. That
	// is the fault which the model has to find.
	late bool
	held *facts.Brought
	// silent leaves out what a call uses up, likewise a fault.
	silent bool
	run    string // of a rule, of the newest intent
}

func (m *mortal) Record(ctx context.Context, e *audit.Event) error {
	before, after := beforeIntent, afterIntent
	if e.Kind == audit.KindOutcome {
		before, after = beforeOutcome, afterOutcome
	}
	if m.late && e.Kind == audit.KindIntent {
		m.held, e.Brought = e.Brought, nil
	} else if m.late && e.Brought == nil {
		e.Brought, m.held = m.held, nil
	}
	if e.Kind == audit.KindIntent {
		if m.run = ""; e.Used != nil && len(e.Used.Runs) > 0 {
			m.run = fmt.Sprint(e.Used.Runs[0])
		}
	}
	if m.silent {
		e.Used = nil
	}
	if m.dies == before {
		runtime.Goexit()
	}
	err := m.Recorder.Record(ctx, e)
	if m.dies == after {
		runtime.Goexit()
	}
	return err
}

// process is a gate on a state that others share.
type process struct {
	*flows
	db       *sqlite.DB
	recorder *mortal
}

func startProcess(t *testing.T, path string, late bool) *process {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &process{db: db, recorder: &mortal{Recorder: audittest.NewLog(t, db), late: late}}
	p.flows = wireFlows(t, nil, func(o *registry.Options) {
		o.Recorder, o.Facts, o.FactsInRecords = p.recorder, db.Facts(), true
	})
	return p
}

// call makes a call in a process that may die during it; returned is false when it
// did.
func (p *process) call(session, tool string, dies int) (res sallyport.Result, ran, returned bool) {
	before := p.ran[tool].Load()
	p.recorder.dies = dies
	done := make(chan struct{})
	go func() {
		defer close(done)
		res = p.by("p", session, tool)
		returned = true
	}()
	<-done
	return res, p.ran[tool].Load() > before, returned
}

// brings is what the tools of the model bring, and whether they carry out.
var brings = map[string]struct {
	facts    []sallyport.Fact
	outward  bool
	readsOwn bool // private data, so that it counts for its own call
}{
	"read_file":         {facts: []sallyport.Fact{sallyport.FactPrivate}},
	"mcp__trivia__fact": {facts: []sallyport.Fact{sallyport.FactUntrusted}},
	"fetch_url":         {facts: []sallyport.Fact{sallyport.FactUntrusted}},
	"send":              {facts: []sallyport.Fact{sallyport.FactUntrusted}, outward: true},
	"upload":            {facts: []sallyport.Fact{sallyport.FactPrivate, sallyport.FactUntrusted}, outward: true, readsOwn: true},
}

// reading is what the model knows of one call.
type reading struct {
	session string
	fact    sallyport.Fact
	at      time.Time
	surely  bool // the tool ran; else it may have, for all that others know
}

// model is what one principal has read.
type model []reading

func (m *model) add(session, tool string, surely bool) {
	for _, f := range brings[tool].facts {
		*m = append(*m, reading{session, f, time.Now(), surely})
	}
}

func (m model) knows(session string, f sallyport.Fact, surely bool) bool {
	return slices.ContainsFunc(m, func(r reading) bool {
		mark := sallyport.FactMark{Session: r.session == session, Time: r.at}
		return r.fact == f && (r.surely || !surely) && mark.Counts(time.Now())
	})
}

// holds reports whether the rule holds a call.
func (m model) holds(session, tool string, surely bool) bool {
	b := brings[tool]
	return b.outward && m.knows(session, sallyport.FactUntrusted, surely) && (b.readsOwn || m.knows(session, sallyport.FactPrivate, surely))
}

// isHeld reports whether a call was held: a repeated one whose request has expired
// answers that nothing was decided in time.
func isHeld(res sallyport.Result) bool {
	return res.Code == sallyport.CodeApprovalRequired || res.Code == sallyport.CodeApprovalDenied
}

// playTaint makes random calls in several processes of one state, which die, begin
// anew, prune the record and forget. It returns what went wrong first.
func playTaint(t *testing.T, seed uint64, late bool) (fault string) {
	r := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "state.db")
	ps := []*process{startProcess(t, path, late), startProcess(t, path, late)}
	tools := []string{"read_file", "mcp__trivia__fact", "fetch_url", "send", "send", "upload"}
	var m model
	for step := range 40 {
		i := r.IntN(len(ps))
		p := ps[i]
		switch n := r.IntN(20); n {
		case 0:
			time.Sleep(time.Duration(1+r.IntN(4)) * 10 * time.Minute)
		case 1:
			m = nil
			if _, err := p.db.Facts().Forget(t.Context(), "p"); err != nil {
				t.Fatal(err)
			}
		case 2:
			if _, err := audit.Prune(t.Context(), p.db, audittest.NewKey(t, "key"), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		default:
			session, tool, dies := fmt.Sprint(r.IntN(3)), tools[r.IntN(len(tools))], never
			if r.IntN(4) == 0 {
				dies = r.IntN(moments)
			}
			must, may := m.holds(session, tool, true), m.holds(session, tool, false)
			res, ran, returned := p.call(session, tool, dies)
			switch {
			case ran && must:
				return fmt.Sprintf("step %d: %s in %s ran after what was read", step, tool, session)
			case returned && isHeld(res) && !may:
				return fmt.Sprintf("step %d: %s in %s was held for nothing: %s", step, tool, session, res.Error)
			case returned && !res.OK && !isHeld(res):
				return fmt.Sprintf("step %d: %s in %s = %+v", step, tool, session, res)
			}
			// A result that was kept counts like one that was made.
			if ran || returned && res.OK || !returned && dies != beforeIntent {
				m.add(session, tool, ran || returned)
			}
			if !returned {
				ps[i] = startProcess(t, path, late)
			}
		}
	}
	return ""
}

// TestNoRefusalIsLost: whatever has run in any process counts in all of them, at
// whatever moment it died.
func TestNoRefusalIsLost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(needs.Count(6, 30)) {
		synctest.Test(t, func(t *testing.T) {
			if fault := playTaint(t, seed, false); fault != "" {
				t.Errorf("seed %d: %s", seed, fault)
			}
		})
	}
}

// TestTheModelFindsALostRefusal: with what a call brings written after it ran, the
// model finds a call that should have been held.
func TestTheModelFindsALostRefusal(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		fault := ""
		synctest.Test(t, func(t *testing.T) { fault = playTaint(t, seed, true) })
		if fault != "" {
			t.Log(fault)
			return
		}
	}
	t.Error("no run of the model found the fault")
}

// TestOfTwoProcessesOneSeesTheOther: calls begin at once in three processes, and the
// order of their intents in the record decides.
func TestOfTwoProcessesOneSeesTheOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	ps := []*process{startProcess(t, path, false), startProcess(t, path, false), startProcess(t, path, false)}
	tools := []string{"read_file", "mcp__trivia__fact", "send"}
	held := 0
	for round := range needs.Count(40, 400) {
		session := fmt.Sprint("s", round)
		principal := fmt.Sprint("p", round)
		results := make([]sallyport.Result, len(tools))
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i, tool := range tools {
			wg.Go(func() {
				<-start
				results[i] = ps[i].by(principal, session, tool)
			})
		}
		close(start)
		wg.Wait()
		if !results[0].OK || !results[1].OK {
			t.Fatalf("reading = %+v", results[:2])
		}
		read, sent := 0, false
		for e, err := range audit.Events(t.Context(), ps[0].db, audit.Query{Principal: principal}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != audit.KindIntent {
				continue
			}
			if e.Tool == "send" {
				sent = true
				break
			}
			read++
		}
		if ran := results[2].OK; sent && ran != (read < 2) {
			t.Fatalf("round %d: send ran %v with %d of two readings before it in the record: %+v", round, ran, read, results[2])
		}
		if !results[2].OK {
			held++
		}
	}
	t.Logf("%d calls were held", held)
}
