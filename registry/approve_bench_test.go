package registry_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/sqlite"
)

// BenchmarkApprovedCall calls a tool with effects over a state file, with an approval that
// a person has given before, and without one, in turns. It reports the median of each.
func BenchmarkApprovedCall(b *testing.B) {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	r, err := registry.New(&sallyport.Backends{Personalities: one{asking(nil)}, KV: noKV{}}, &registry.Options{
		Recorder: audittest.NewLog(b, db), Approvals: db.Approvals(), Facts: db.Facts(), FactsInRecords: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = r.Close(b.Context()) })
	tool := sallyport.Tool{Name: "held", Schema: open, Run: echo, Capabilities: sallyport.Capabilities{
		Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeToolPrivate, Kind: "kv"},
	}}
	free := tool
	if free.Name = "free"; r.Register(tool, free) != nil {
		b.Fatal("the tools are refused")
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Session: "s", Personality: "role"}
	took := map[string][]time.Duration{}
	for n := 0; b.Loop(); n++ {
		q := sallyport.Request{Tool: "held", Args: fmt.Appendf(nil, `{"n":%d}`, n)}
		id := r.Call(b.Context(), caller, q).ApprovalID
		if err := db.Approvals().Decide(b.Context(), id, "boss", true, ""); err != nil {
			b.Fatal(err)
		}
		for _, q.Tool = range []string{"held", "free"} {
			began := time.Now()
			if res := r.Call(b.Context(), caller, q); !res.OK {
				b.Fatal(res.Error)
			}
			took[q.Tool] = append(took[q.Tool], time.Since(began))
		}
	}
	b.ReportMetric(0, "ns/op")
	for tool, unit := range map[string]string{"held": "approved-µs", "free": "free-µs"} {
		slices.Sort(took[tool])
		b.ReportMetric(float64(took[tool][len(took[tool])/2].Nanoseconds())/1e3, unit)
		b.ReportMetric(float64(took[tool][0].Nanoseconds())/1e3, "least-"+unit)
	}
}

// BenchmarkCallUnderARule calls a tool with effects under a rule for the session, whose
// runs reach the disk with the intents, and then one whose runs are counted by themselves.
// It reports the median and the least of each.
func BenchmarkCallUnderARule(b *testing.B) {
	var took [2][]time.Duration
	for i := range took {
		db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "state.db"), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = db.Close() })
		settings := approvals.RuleSettings(db.Settings())
		if i > 0 {
			settings = struct{ approvals.RuleSettings }{settings}
		}
		rules := approvals.NewRules(settings, db.Approvals(), nil)
		r, err := registry.New(&sallyport.Backends{Personalities: one{asking(nil)}, KV: noKV{}}, &registry.Options{
			Recorder: audittest.NewLog(b, db), Approvals: db.Approvals(), Facts: db.Facts(), FactsInRecords: true, ClaimApprovalRule: rules.Claim,
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = r.Close(b.Context()) })
		err = r.Register(sallyport.Tool{Name: "held", Schema: open, Run: echo, Capabilities: sallyport.Capabilities{
			Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeToolPrivate, Kind: "kv"},
		}})
		if err != nil {
			b.Fatal(err)
		}
		caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Personality: "role"}
		q := sallyport.Request{Tool: "held"}
		for n := range 2 * approvals.RuleRuns {
			if n%approvals.RuleRuns == 0 {
				caller.Session = fmt.Sprint("s", n)
				a, err := db.Approvals().Get(b.Context(), r.Call(b.Context(), caller, q).ApprovalID)
				if err != nil {
					b.Fatal(err)
				}
				rule, err := approvals.ProposeRule(&a, nil)
				if err == nil {
					err = rules.Give(b.Context(), *rule, approvals.DeciderNamed("boss"), "")
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			began := time.Now()
			if res := r.Call(b.Context(), caller, q); !res.OK {
				b.Fatal(res.Error)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, unit := range []string{"in-record-µs", "counted-µs"} {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Nanoseconds())/1e3, unit)
		b.ReportMetric(float64(took[i][0].Nanoseconds())/1e3, "least-"+unit)
	}
}
