package registry_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/sqlite"
)

// approving is a process that shares its state with others, and whose tools need
// approvals: "held" has effects, "held_read" has none.
type approving struct {
	*desk
	db       *sqlite.DB
	recorder *mortal
	rules    *approvals.Rules
	close    func() error
}

func startApproving(t *testing.T, path string, silent bool) *approving {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := audit.New(db, audittest.NewKey(t, "key"), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &approving{db: db, recorder: &mortal{Recorder: l, silent: silent}, rules: approvals.NewRules(db.Settings(), db.Approvals(), nil)}
	p.close = sync.OnceValue(func() error { return errors.Join(l.Close(), db.Close()) })
	t.Cleanup(func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	})
	role := asking(func(p *sallyport.Personality) { p.Approvals.Require = append(p.Approvals.Require, "held_read") })
	p.desk = newDeskOf(t, role, db.Approvals(), &sallyport.Backends{KV: noKV{}}, func(o *registry.Options) {
		o.Recorder, o.Facts, o.FactsInRecords, o.Workspace = p.recorder, db.Facts(), true, filepath.Dir(path)
		o.ClaimApprovalRule = p.rules.Claim
	})
	for name, caps := range map[string]sallyport.Capabilities{
		"held": {Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeToolPrivate, Kind: "kv"}}, "held_read": {},
	} {
		p.hold(func(tool *sallyport.Tool) { tool.Name, tool.Capabilities = name, caps })
	}
	return p
}

// call makes a call in a process that may die during it; returned is false when it did.
func (p *approving) call(tool, args string, dies int) (res sallyport.Result, ran, returned bool) {
	before := p.ran.Load()
	p.recorder.dies = dies
	done := make(chan struct{})
	go func() {
		defer close(done)
		res = call(p.gate, tool, args)
		returned = true
	}()
	<-done
	return res, p.ran.Load() > before, returned
}

// given is the newest approval of a call, as the model knows it.
type given struct {
	expires time.Time
	// surely is false when a process died with it: it may be used, and nothing ran.
	surely bool
}

// approvalModel plays random calls and decisions in several processes of one state.
type approvalModel struct {
	t      *testing.T
	r      *rand.Rand
	dir    string
	silent bool
	all    []*approving
	ps     []*approving
	open   map[string]given // by tool and arguments
}

func (m *approvalModel) path() string { return filepath.Join(m.dir, "state.db") }

func (m *approvalModel) start() *approving {
	p := startApproving(m.t, m.path(), m.silent)
	m.all = append(m.all, p)
	return p
}

// keep copies the file as it is after a decision, which is on the disk.
func (m *approvalModel) keep() {
	m.t.Helper()
	kept := filepath.Join(m.dir, "kept.db")
	err := errors.Join(os.RemoveAll(kept), os.RemoveAll(kept+"-log"), m.ps[0].db.Backup(m.t.Context(), kept))
	if err != nil {
		m.t.Fatal(err)
	}
}

// losePower ends all processes, and what they wrote to the file since the last
// decision. What they recorded is there.
func (m *approvalModel) losePower() {
	m.t.Helper()
	for _, p := range m.all {
		if err := p.close(); err != nil {
			m.t.Fatal(err)
		}
	}
	b, err := os.ReadFile(filepath.Join(m.dir, "kept.db"))
	err = errors.Join(err, os.RemoveAll(m.path()+"-wal"), os.RemoveAll(m.path()+"-shm"), os.WriteFile(m.path(), b, 0o600))
	if err != nil {
		m.t.Fatal(err)
	}
	m.all = nil
	for i := range m.ps {
		m.ps[i] = m.start()
	}
}

// decide decides about one of the calls that wait.
func (m *approvalModel) decide(p *approving) {
	m.t.Helper()
	list, err := p.store.List(m.t.Context(), false)
	if err != nil {
		m.t.Fatal(err)
	}
	if len(list) == 0 {
		return
	}
	a := list[m.r.IntN(len(list))]
	key := a.Tool + a.Args
	switch {
	case a.State == sallyport.ApprovalPending && m.r.IntN(8) > 0:
		p.decide(a.ID, true, "")
		m.open[key] = given{a.Expires, true}
	case m.r.IntN(4) == 0:
		p.decide(a.ID, false, "")
		delete(m.open, key)
	}
	m.keep()
}

// play returns what went wrong first.
func (m *approvalModel) play() (fault string) {
	m.ps = []*approving{m.start(), m.start()}
	m.keep()
	for step := range 50 {
		i := m.r.IntN(len(m.ps))
		p := m.ps[i]
		switch n := m.r.IntN(24); {
		case n == 0:
			time.Sleep(time.Duration(1+m.r.IntN(5)) * 10 * time.Minute)
		case n == 1:
			if _, err := audit.Prune(m.t.Context(), p.db, audittest.NewKey(m.t, "key"), time.Now().Add(time.Hour)); err != nil {
				m.t.Fatal(err)
			}
			m.keep() // what was pruned is not read again
		case n < 5:
			m.losePower()
		case n < 12:
			m.decide(p)
		default:
			tool, args := []string{"held", "held_read"}[m.r.IntN(2)], fmt.Sprintf(`{"n":%d}`, m.r.IntN(2))
			dies := never
			if m.r.IntN(4) == 0 {
				dies = m.r.IntN(moments)
			}
			if what := m.judge(p, tool, args, dies); what != "" {
				return fmt.Sprintf("step %d: %s%s %s", step, tool, args, what)
			}
			if dies != never {
				m.ps[i] = m.start()
			}
		}
	}
	return ""
}

// judge makes a call, and says what is wrong with what became of it.
func (m *approvalModel) judge(p *approving, tool, args string, dies int) string {
	a, ok := m.open[tool+args]
	ok = ok && time.Now().Before(a.expires)
	res, ran, returned := p.call(tool, args, dies)
	switch {
	case ran && !ok:
		return "ran without an approval"
	case ran:
		delete(m.open, tool+args)
	case returned && ok && a.surely:
		return fmt.Sprintf("did not run: %+v", res)
	case returned && !isHeld(res):
		return fmt.Sprintf("= %+v", res)
	case !returned:
		m.open[tool+args] = given{a.expires, false}
	}
	return ""
}

func newApprovalModel(t *testing.T, seed uint64, silent bool) *approvalModel {
	return &approvalModel{t: t, r: rand.New(rand.NewPCG(seed, 3)), dir: t.TempDir(), silent: silent, open: map[string]given{}}
}

// TestNoApprovalRunsTwice: whatever the moment at which a process dies or the power
// fails, each approval lets one call run at most.
func TestNoApprovalRunsTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(needs.Count(4, 60)) {
		synctest.Test(t, func(t *testing.T) {
			if fault := newApprovalModel(t, seed, false).play(); fault != "" {
				t.Errorf("seed %d: %s", seed, fault)
			}
		})
	}
}

// TestTheModelFindsAnApprovalThatRunsTwice: with intents that do not say what they use,
// the model finds a call that ran without an approval.
func TestTheModelFindsAnApprovalThatRunsTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		fault := ""
		synctest.Test(t, func(t *testing.T) { fault = newApprovalModel(t, seed, true).play() })
		if fault != "" {
			t.Logf("seed %d: %s", seed, fault)
			return
		}
	}
	t.Error("no run of the model found the fault")
}

// playRule makes calls under one rule for the session.
func (m *approvalModel) playRule() (fault string) {
	m.ps = []*approving{m.start(), m.start()}
	const args = `{"n":0}`
	a, err := m.ps[0].store.Get(m.t.Context(), call(m.ps[0].gate, "held", args).ApprovalID)
	if err != nil {
		m.t.Fatal(err)
	}
	r, err := approvals.ProposeRule(&a, nil)
	if err == nil {
		err = m.ps[0].rules.Give(m.t.Context(), *r, approvals.DeciderNamed("boss"), "")
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.keep()
	runs := map[string]bool{} // that tools ran on
	for step := range 40 {
		i, dies := m.r.IntN(len(m.ps)), never
		switch m.r.IntN(8) {
		case 0:
			m.losePower()
			continue
		case 1, 2:
			dies = m.r.IntN(moments)
		}
		res, ran, returned := m.ps[i].call("held", args, dies)
		if ran {
			run := m.ps[i].recorder.run
			if runs[run] || run == "" {
				return fmt.Sprintf("step %d: a call ran on %q, which another one has used", step, run)
			}
			runs[run] = true
		}
		if returned && !res.OK {
			return fmt.Sprintf("step %d: %+v", step, res)
		}
		if dies != never {
			m.ps[i] = m.start()
		}
	}
	return ""
}

// TestNoRunOfARuleCountsTwice likewise, for the runs of a rule.
func TestNoRunOfARuleCountsTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(needs.Count(4, 60)) {
		synctest.Test(t, func(t *testing.T) {
			if fault := newApprovalModel(t, seed, false).playRule(); fault != "" {
				t.Errorf("seed %d: %s", seed, fault)
			}
		})
	}
}

// TestTheModelFindsARunThatCountsTwice: with intents that do not say what they use.
func TestTheModelFindsARunThatCountsTwice(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		fault := ""
		synctest.Test(t, func(t *testing.T) { fault = newApprovalModel(t, seed, true).playRule() })
		if fault != "" {
			t.Logf("seed %d: %s", seed, fault)
			return
		}
	}
	t.Error("no run of the model found the fault")
}

// TestOfSeveralProcessesOneUsesAnApproval: calls begin at once in three processes.
func TestOfSeveralProcessesOneUsesAnApproval(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	ps := []*approving{startApproving(t, path, false), startApproving(t, path, false), startApproving(t, path, false)}
	for round := range needs.Count(25, 250) {
		args := fmt.Sprintf(`{"n":%d}`, round)
		id := call(ps[0].gate, "held", args).ApprovalID
		ps[1].decide(id, true, "")
		var wg sync.WaitGroup
		start := make(chan struct{})
		for _, p := range ps {
			for range 2 {
				wg.Go(func() {
					<-start
					if res := call(p.gate, "held", args); !res.OK && !isHeld(res) {
						t.Errorf("Call = %+v", res)
					}
				})
			}
		}
		close(start)
		wg.Wait()
		ran := int32(0)
		for _, p := range ps {
			ran += p.ran.Load()
		}
		if ran != int32(round+1) {
			t.Fatalf("round %d: %d runs in all, want one of each approval", round, ran)
		}
		said := 0
		for e, err := range audit.Events(t.Context(), ps[0].db, audit.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Used != nil && e.Used.Approvals[0] == id {
				said++
			}
		}
		if said != 1 {
			t.Fatalf("round %d: %d records say that the approval is used", round, said)
		}
		// Those that did not get it wait for another one, and only so many may.
		ps[0].decide(ps[0].one().ID, false, "")
	}
}
