package registry_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/sums"
	"github.com/sallyport/sallyport/registry"
)

// TestARefusedCallAddsToNoSum has steps refuse payments whose sums were counted already:
// once what refused them is gone, the bound is still there to be used up, and no more.
func TestARefusedCallAddsToNoSum(t *testing.T) {
	t.Parallel()
	disk, budget := &fullDisk{}, usd("0.1")
	for name, refusal := range map[string]struct {
		code sallyport.Code
		on   func()
		off  func()
	}{
		"its record cannot be kept": {sallyport.CodeNotAvailable, func() { disk.full.Store(true) }, func() { disk.full.Store(false) }},
		"its budget is used up":     {sallyport.CodeRateLimited, func() { budget.Set(usd("0.1")) }, func() { budget.Set(usd("5")) }},
	} {
		book := sums.New(newState(t).Settings(), nil)
		p := &sallyport.Personality{
			Name: "role", Approvals: &sallyport.Approvals{},
			Arguments: map[string]json.RawMessage{"pay": json.RawMessage(`{"amount":{"sum":{"max":500,"per":"7d"}},"fee":{"sum":{"max":500,"per":"7d"}}}`)},
		}
		g := &gate{t: t, recorder: &recorder{}, role: p.Name}
		disk.Recorder = g.recorder
		budget.Set(usd("5"))
		var err error
		g.Registry, err = registry.New(&sallyport.Backends{Personalities: one{p}, Network: &sallyport.NetworkBackend{}}, &registry.Options{
			Recorder: disk, Sums: book, Costs: costs.New(book, nil),
			Budgets: func(string, string) costs.Budgets { return costs.Budgets{Principal: costs.Budget{Day: budget}} },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := g.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		var paid atomic.Int32
		g.add(sallyport.Tool{
			Name: "pay", MaxCostUSD: 0.2, Schema: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"number"},"fee":{"type":"number"}}}`),
			Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example"}}},
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				paid.Add(1)
				return sallyport.OK("paid"), nil
			},
		})
		const half = `{"amount":250,"fee":250}`
		refusal.on()
		for range 3 {
			if res := call(g, "pay", half); res.Code != refusal.code {
				t.Errorf("%s: %+v", name, res)
			}
		}
		refusal.off()
		for i, want := range []sallyport.Code{"", "", sallyport.CodePermissionDenied} {
			if res := call(g, "pay", half); res.Code != want {
				t.Errorf("%s: payment %d afterwards = %+v, want %q", name, i, res, want)
			}
		}
		if n := paid.Load(); n != 2 {
			t.Errorf("%s: %d payments under a bound of two", name, n)
		}
	}
}
