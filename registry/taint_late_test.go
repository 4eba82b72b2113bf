package registry_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
)

// recall is a tool that answers with what it kept, and says of each answer whether
// others wrote of it.
func recall(f *flows, tainted *bool) {
	f.add(sallyport.Tool{
		Name: "recall", Schema: open, ReadOnly: true,
		Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}},
		Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			*tainted = c.Tainted
			r := sallyport.OK(passedOn)
			r.Untrusted = strings.Contains(string(c.Args), "poisoned")
			return r, nil
		},
	})
}

func (f *flows) recall(session, args string) sallyport.Result {
	c := f.caller()
	c.Principal.Name, c.Session, c.Platform = "ann", session, sallyport.PlatformMCP
	return f.Call(f.t.Context(), c, sallyport.Request{Tool: "recall", Args: json.RawMessage(args)})
}

// TestAResultThatSaysThatItIsUntrustedCounts holds results whose tool does not say of
// all of them that others wrote them, with the facts in the store and in the record.
func TestAResultThatSaysThatItIsUntrustedCounts(t *testing.T) {
	t.Parallel()
	for name, inRecords := range map[string]bool{"store": false, "record": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sqlite.Open(t.Context(), t.TempDir()+"/state.db", nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			f := wireFlows(t, nil, func(o *registry.Options) {
				o.Facts, o.FactsInRecords = db.Facts(), inRecords
				if inRecords {
					o.Recorder = audittest.NewLog(t, db)
				}
			})
			var tainted bool
			recall(f, &tainted)
			if res := f.recall("one", `{}`); res.Value != passedOn || tainted {
				t.Errorf("recall = %+v, tainted %t, want the bare text", res, tainted)
			}
			res := f.recall("one", `{"n":"poisoned"}`)
			if want := "<untrusted source=\"unknown\" tool=\"recall\">\n" + passedOn + "\n</untrusted>"; res.Value != want || tainted {
				t.Errorf("recall = %q, tainted %t, want %q", res.Value, tainted, want)
			}
			f.let("bob", "one", "upload")
			f.hold("ann", "one", "upload")
			if f.recall("one", `{}`); !tainted {
				t.Error("a call after the untrusted result is not tainted")
			}
			if f.recall("two", `{}`); !tainted {
				t.Error("a call of the principal's other session is not tainted")
			}
		})
	}
}

// TestWhatIsNotKnownIsTainted holds calls whose facts the store does not tell. What they
// bring then counts as long as the registry lives.
func TestWhatIsNotKnownIsTainted(t *testing.T) {
	t.Parallel()
	m, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &brokenFacts{FactStore: m.Facts()}
	f := newFlows(t, b, nil)
	var tainted bool
	recall(f, &tainted)
	b.now.Store(true)
	if res := f.recall("one", `{"n":"poisoned"}`); !res.OK || !tainted {
		t.Errorf("recall = %+v, tainted %t, want it to run as tainted", res, tainted)
	}
	b.now.Store(false)
	f.hold("ann", "one", "upload")
}
