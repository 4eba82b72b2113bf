package action_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
)

// answering serves one JSON text.
func answering(t *testing.T, status int, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAnActionSaysWhatACallCosts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cost, answer string
		status       int
		want, most   float64
	}{
		"nothing is said":                 {`{"at": ""}`, `{"cost_usd": 3}`, 200, 0, 0},
		"a fixed price":                   {`0.002`, `{}`, 200, 0.002, 0.002},
		"a failure costs nothing":         {`0.002`, `{}`, 500, 0, 0.002},
		"the answer says it":              {`{"each": 0.01, "most": 0.05, "at": "/usage/usd"}`, `{"usage": {"usd": 0.03}}`, 200, 0.03, 0.05},
		"the answer says nothing":         {`{"each": 0.01, "most": 0.05, "at": "/usage/usd"}`, `{}`, 200, 0.05, 0.05},
		"the answer says more":            {`{"most": 0.05, "at": "/usd"}`, `{"usd": 7}`, 200, 7, 0.05},
		"the answer says that it is free": {`{"most": 0.05, "at": "/usd"}`, `{"usd": 0}`, 200, 0, 0.05},
		"the answer says less than none":  {`{"most": 0.05, "at": "/usd"}`, `{"usd": -1}`, 200, 0.05, 0.05},
		"the answer says no number":       {`{"most": 0.05, "at": "/usd"}`, `{"usd": "0.01"}`, 200, 0.05, 0.05},
		"an absurd number is no answer":   {`{"most": 0.05, "at": "/usd"}`, `{"usd": 1e400}`, 200, 0.05, 0.05},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := decoded(t, `{"id": "act", "cost": `+tt.cost+`, "handler": {"http": {"method": "POST", "url": "URL/x"}}}`, answering(t, tt.status, tt.answer))
			if res := newGate(t, tool).use(`{}`); res.OK != (tt.status == 200 && !strings.Contains(tt.answer, "1e400")) || res.CostUSD != tt.want || tool.MaxCostUSD != tt.most {
				t.Errorf("Call = %+v, at most %v; want a cost of %v, at most %v", res, tool.MaxCostUSD, tt.want, tt.most)
			}
		})
	}
}

func TestAPriceThatIsNoAmountIsAFault(t *testing.T) {
	t.Parallel()
	for cost, at := range map[string]string{
		`-1`: "/cost", `1e400`: "/cost", `1e10`: "/cost", `"1"`: "/cost", `null`: "/cost", `[1]`: "/cost",
		`{"each": -1}`: "/cost/each", `{"most": "1"}`: "/cost/most", `{"each": 2, "most": 1}`: "/cost/most",
		`{"at": "usd"}`: "/cost/at", `{"price": 1}`: "/cost/price",
	} {
		_, err := action.Decode(json.RawMessage(`{"id": "act", "cost": `+cost+`, "handler": {"http": {"url": "https://a.example/"}}}`), nil)
		faults, ok := errors.AsType[action.Faults](err)
		if !ok || len(faults) != 1 || faults[0].Pointer != at {
			t.Errorf("cost %s: %v, want a fault at %s", cost, err, at)
		}
	}
}

func TestAProgramSaysWhatItsCallCost(t *testing.T) {
	t.Parallel()
	dir := handlers(t, map[string]string{"a.sh": "cat >/dev/null\necho '{\"cost_usd\": 0.25, \"x\": 1}'\n"})
	res := newGate(t, scripted(t, dir, `{"id": "act", "handler": "a.sh"}`)).use(`{}`)
	if !res.OK || res.CostUSD != 0.25 || res.Structured["x"] == nil || !strings.Contains(res.Value, "cost_usd") {
		t.Errorf("Call = %+v, want a cost of 0.25", res)
	}
}

func TestAGoFunctionMayLeaveThePriceToItsDefinition(t *testing.T) {
	t.Parallel()
	for said, want := range map[float64]float64{0: 0.5, 0.125: 0.125} {
		d := action.Definition{ID: "act", CostUSD: 0.5, Handler: action.Handler{Run: func(_ context.Context, _ *sallyport.Call) (sallyport.Result, error) {
			return sallyport.Result{OK: true, CostUSD: said}, nil
		}}}
		tool, err := d.Tool()
		if err != nil {
			t.Fatal(err)
		}
		if res := newGate(t, tool).use(`{}`); res.CostUSD != want {
			t.Errorf("a function that says %v costs %v, want %v", said, res.CostUSD, want)
		}
	}
}
