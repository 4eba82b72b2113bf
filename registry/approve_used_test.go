package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
)

var _ approvals.Claimer = &claims{}

// claims are held calls whose uses wait for the disk with the intent.
type claims struct {
	sallyport.ApprovalStore
	id   string // of what it holds, when it is not what was asked for
	note func(what string)
	fail error
}

func (s *claims) Claim(ctx context.Context, id string) (settle func(bool) error, ok bool, err error) {
	ok, err = s.Use(ctx, id)
	s.note(fmt.Sprint("claimed ", ok))
	return func(recorded bool) error {
		s.note(fmt.Sprint("settled ", recorded))
		return s.fail
	}, ok, err
}

func (s *claims) Ask(ctx context.Context, a sallyport.Approval) (sallyport.Approval, error) {
	if s.id != "" {
		a.ID = s.id
	}
	return s.ApprovalStore.Ask(ctx, a)
}

// usesRecorder is a recorder that notes what records say is used.
type usesRecorder struct {
	*recorder
	note func(what string)
}

func (n usesRecorder) Record(ctx context.Context, e *audit.Event) error {
	if err := n.recorder.Record(ctx, e); err != nil {
		return err
	}
	what := string(e.Kind)
	if e.Used != nil {
		what += fmt.Sprintf(" uses %d", len(e.Used.Approvals)+len(e.Used.Runs))
	}
	if e.Durable {
		what += " durably"
	}
	n.note(what)
	return nil
}

// TestAUseIsDurableBeforeTheToolRuns follows a call with an approval: what it waits for
// and what its records say, in order.
func TestAUseIsDurableBeforeTheToolRuns(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, c := range []struct {
		name      string
		effects   bool
		unwritten bool   // no record can be kept
		none      bool   // there is no recorder
		id        string // of the held call
		unsettled error
		kept      bool // the result of an earlier call is
		code      sallyport.Code
		want      string
	}{
		{name: "effects", effects: true, want: "claimed true, intent uses 1 durably, settled true, ran, outcome"},
		{name: "no effects", want: "claimed true, intent uses 1 durably, settled true, ran, outcome"},
		{name: "no effects, no record", unwritten: true, want: "claimed true, settled false, ran"},
		{name: "effects, no record", effects: true, unwritten: true, code: sallyport.CodeNotAvailable, want: "claimed true, settled false"},
		{name: "no recorder", effects: true, none: true, want: "claimed true, settled false, ran"},
		{name: "an id that no record holds", effects: true, id: `a"b`, want: "claimed true, intent durably, settled false, ran, outcome"},
		{name: "a full disk", effects: true, unsettled: broken, code: sallyport.CodeNotAvailable, want: "claimed true, intent uses 1 durably, settled true, outcome"},
		{name: "a kept result", kept: true, want: "claimed true, settled false, outcome uses 1"},
		{name: "a kept result, a full disk", kept: true, unsettled: broken, code: sallyport.CodeNotAvailable, want: "claimed true, settled false, outcome uses 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			note := func(what string) { got = append(got, what) }
			store := &claims{ApprovalStore: memory.NewApprovals(nil), id: c.id, note: note}
			d := newDeskOf(t, asking(nil), store, &sallyport.Backends{KV: noKV{}}, func(o *registry.Options) {
				if o.Recorder = (usesRecorder{o.Recorder.(*recorder), note}); c.none {
					o.Recorder = nil
				}
			})
			d.hold(func(tool *sallyport.Tool) {
				run := tool.Run
				tool.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
					note("ran")
					return run(ctx, c)
				}
				if c.effects {
					tool.Capabilities.Storage = &sallyport.StorageCapability{Scope: sallyport.ScopeToolPrivate, Kind: "kv"}
				}
				if c.kept {
					tool.Cache = &sallyport.Cache{}
				}
			})
			if c.kept {
				d.want("", sallyport.CodeApprovalRequired, 0)
				d.decide(d.one().ID, true, "")
				d.want("", "", 1)
			}
			store.fail = c.unsettled
			runs := d.ran.Load()
			d.want("", sallyport.CodeApprovalRequired, runs)
			d.decide(d.one().ID, true, "")
			if got = nil; c.unwritten {
				d.recorder.refuse(broken)
			}
			if strings.Contains(c.want, "ran") {
				runs++
			}
			d.want("", c.code, runs)
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestARunIsDurableBeforeTheToolRuns is the same for a run of a rule, and for an exception,
// of which nothing is used up.
func TestARunIsDurableBeforeTheToolRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		run  approvals.RuleRun
		want string
	}{
		{"a rule", approvals.RuleRun{Rule: "rule.7", Run: 3}, "intent uses 1 durably, settled true, ran, outcome"},
		{"an id that no record holds", approvals.RuleRun{Rule: "a b", Run: 3}, "intent durably, settled false, ran, outcome"},
		{"an exception", approvals.RuleRun{}, "intent durably, ran, outcome"},
	} {
		var got []string
		note := func(what string) { got = append(got, what) }
		d := newDeskOf(t, asking(nil), memory.NewApprovals(nil), &sallyport.Backends{KV: noKV{}}, func(o *registry.Options) {
			o.Recorder = usesRecorder{o.Recorder.(*recorder), note}
			o.ClaimApprovalRule = func(context.Context, *sallyport.Approval) (approvals.Allowance, bool, error) {
				allowed := approvals.Allowance{Said: "as agreed", Run: c.run}
				if c.run.Run > 0 {
					allowed.Settle = func(recorded bool) error {
						note(fmt.Sprint("settled ", recorded))
						return nil
					}
				}
				return allowed, true, nil
			}
		})
		d.hold(func(tool *sallyport.Tool) {
			tool.Capabilities.Storage = &sallyport.StorageCapability{Scope: sallyport.ScopeToolPrivate, Kind: "kv"}
			tool.Run = func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				note("ran")
				return sallyport.OK("ran"), nil
			}
		})
		if res := call(d.gate, "held", ""); !res.OK || strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %+v, %q, want %q", c.name, res, got, c.want)
		}
	}
}

// TestARefusedCallSaysWhatItUsed: the approval is spent, and the record of the outcome
// says so.
func TestARefusedCallSaysWhatItUsed(t *testing.T) {
	t.Parallel()
	var got []string
	note := func(what string) { got = append(got, what) }
	stops := &thrown{}
	store := &claims{ApprovalStore: memory.NewApprovals(nil), note: note}
	d := newDeskOf(t, asking(nil), store, &sallyport.Backends{}, func(o *registry.Options) {
		o.Recorder, o.Switches = usesRecorder{o.Recorder.(*recorder), note}, stops
	})
	d.hold(nil)
	d.want("", sallyport.CodeApprovalRequired, 0)
	d.decide(d.one().ID, true, "")
	got = nil
	store.note = func(what string) {
		if note(what); what == "claimed true" {
			stops.throw(nil, "tool held")
		}
	}
	d.want("", sallyport.CodeNotAvailable, 0)
	if want := "claimed true, settled false, outcome uses 1"; strings.Join(got, ", ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAnApprovalAfterTheIntentIsUsedAtOnce: what another call has read by the time of the
// intent holds a call that had not been held. Its approval, or run of a rule, has no intent
// to wait with.
func TestAnApprovalAfterTheIntentIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	for _, ruled := range []bool{false, true} {
		var got []string
		note := func(what string) { got = append(got, what) }
		f, late, store := lateFlows(t, note, ruled)
		done := make(chan sallyport.Result, 1)
		go func() { done <- f.by("p", "s", "send") }()
		for decided := ruled; !decided; time.Sleep(time.Millisecond) {
			list, err := store.List(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) > 0 {
				decided = true
				if err := store.Decide(t.Context(), list[0].ID, "boss", true, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := ""
		if ruled {
			want = "settled false after 0 runs"
		}
		if res := <-done; !res.OK || strings.Join(got, ", ") != want {
			t.Errorf("by a rule %t: send = %+v after %q, want %q", ruled, res, got, want)
		}
		if e := late.last; e.Kind != audit.KindOutcome || e.Used == nil || len(e.Used.Approvals)+len(e.Used.Runs) != 1 {
			t.Errorf("by a rule %t: the outcome says that it uses %+v", ruled, e.Used)
		}
	}
}

// lateFlows is a gate in which others read just before the first intent of "send".
func lateFlows(t *testing.T, note func(what string), ruled bool) (f *flows, late *lateReader, store *claims) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), t.TempDir()+"/state.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	store = &claims{ApprovalStore: db.Approvals(), note: note}
	late = &lateReader{Log: audittest.NewLog(t, db)}
	f = wireFlows(t, func(p *sallyport.Personality) { p.Approvals.Wait = time.Minute }, func(o *registry.Options) {
		o.Recorder, o.Approvals, o.Facts, o.FactsInRecords = late, store, db.Facts(), true
		if !ruled {
			return
		}
		o.ClaimApprovalRule = func(context.Context, *sallyport.Approval) (approvals.Allowance, bool, error) {
			return approvals.Allowance{Said: "as agreed", Run: approvals.RuleRun{Rule: "rule.7", Run: 3}, Settle: func(recorded bool) error {
				note(fmt.Sprintf("settled %t after %d runs", recorded, f.ran["send"].Load()))
				return nil
			}}, true, nil
		}
	})
	late.read = func() {
		for _, tool := range []string{"read_file", "mcp__trivia__fact"} {
			if res := f.by("p", "s", tool); !res.OK {
				t.Errorf("%s = %+v", tool, res)
			}
		}
	}
	return f, late, store
}

// lateReader records what others read just before the first intent of "send".
type lateReader struct {
	*audit.Log
	read func()
	last audit.Event // of send
}

func (l *lateReader) Record(ctx context.Context, e *audit.Event) error {
	if e.Tool != "send" {
		return l.Log.Record(ctx, e)
	}
	if e.Kind == audit.KindIntent {
		l.read()
	}
	err := l.Log.Record(ctx, e)
	l.last = *e
	return err
}
