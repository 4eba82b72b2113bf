package registry_test

import (
	"context"
	"errors"
	"math/big"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/sums"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// shop is a gate whose callers have budgets.
type shop struct {
	*registry.Registry
	book  *costs.Book
	sells atomic.Int64
}

func newShop(t *testing.T, state *memory.Store, budgets costs.Budgets) *shop {
	t.Helper()
	s := &shop{book: costs.New(sums.New(state.Settings(), nil), nil)}
	var err error
	s.Registry, err = registry.New(nil, &registry.Options{
		Costs: s.book, Budgets: func(string, string) costs.Budgets { return budgets },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return s
}

func (s *shop) sell(t *testing.T, name string, most float64, run func(context.Context, *sallyport.Call) (sallyport.Result, error)) {
	t.Helper()
	err := s.Register(sallyport.Tool{
		Name: name, Schema: open, MaxCostUSD: most, Timeout: time.Second,
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			s.sells.Add(1)
			return run(ctx, c)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *shop) buy(t *testing.T, principal, session, tool string) sallyport.Result {
	t.Helper()
	return s.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: principal}, Session: session}, sallyport.Request{Tool: tool})
}

func costing(usd float64, err error) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
	return func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return sallyport.Result{OK: true, Value: "sold", CostUSD: usd}, err
	}
}

func usd(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text)
	return r
}

func TestABudgetRefusesWhatItHasNoRoomFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, newState(t), costs.Budgets{Principal: costs.Budget{Day: usd("1"), Source: "f.yaml:3:4"}, Role: costs.Budget{Session: usd("0.5")}})
		s.sell(t, "paid", 0.2, costing(0.2, nil))
		s.sell(t, "free", 0, costing(0, nil))
		for i, c := range []struct {
			session string
			fits    bool
		}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"b", true}, {"c", true}, {"c", false}} {
			if res := s.buy(t, "ann", c.session, "paid"); res.OK != c.fits {
				t.Errorf("purchase %d = %+v, want ok %t", i, res, c.fits)
			}
			time.Sleep(time.Hour)
		}
		res := s.buy(t, "ann", "d", "paid")
		want := "Rate limit exceeded: a budget of 1 USD per 1d for paid; try again in 17h0m0.001s"
		if res.Code != sallyport.CodeRateLimited || res.Error != want || res.RetryAfter != 17*time.Hour+time.Millisecond {
			t.Errorf("above the day = %+v, want %s", res, want)
		}
		if res := s.buy(t, "ann", "d", "free"); !res.OK {
			t.Errorf("a tool that costs nothing = %+v", res)
		}
		if res := s.buy(t, "ben", "d", "paid"); !res.OK {
			t.Errorf("another principal = %+v", res)
		}
		time.Sleep(res.RetryAfter)
		if res := s.buy(t, "ann", "d", "paid"); !res.OK {
			t.Errorf("after the wait = %+v", res)
		}
	})
}

// Of processes on one state, and of calls at once, no budget is exceeded where the tools
// declare their price; what they did not cost is given back.
func TestABudgetIsExactOverProcesses(t *testing.T) {
	t.Parallel()
	state := newState(t)
	var wg sync.WaitGroup
	var sold atomic.Int64
	for range 3 {
		s := newShop(t, state, costs.Budgets{Principal: costs.Budget{Day: usd("1")}})
		s.sell(t, "paid", 0.1, costing(0.05, nil))
		for range 20 {
			wg.Go(func() {
				if s.buy(t, "ann", "s", "paid").OK {
					sold.Add(1)
				}
			})
		}
	}
	wg.Wait()
	book := costs.New(sums.New(state.Settings(), nil), nil)
	total, err := book.Totals(t.Context(), costs.Spender{Principal: "ann", Session: "s"})
	want := new(big.Rat).Mul(big.NewRat(sold.Load(), 1), usd("0.05"))
	if err != nil || total.Principal.Cmp(want) != 0 || total.Session.Cmp(want) != 0 || total.Principal.Cmp(usd("1")) > 0 {
		t.Errorf("%d were sold, %v counted (%v), want %v, at most 1", sold.Load(), total, err, want)
	}
}

func TestWhatACallCostCountsHoweverItEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		most float64
		run  func(context.Context, *sallyport.Call) (sallyport.Result, error)
		want string
	}{
		"a failure":                 {1, costing(0.25, errors.New("no")), "0.25"},
		"a failure without a price": {1, costing(0, errors.New("no")), "0"},
		"more than was declared":    {1, costing(2.5, nil), "2.5"},
		"nothing was declared":      {0, costing(0.125, nil), "0.125"},
		"a panic, by what may be":   {1, func(context.Context, *sallyport.Call) (sallyport.Result, error) { panic("x") }, "1"},
		"a deadline, by what may be": {1, func(ctx context.Context, _ *sallyport.Call) (sallyport.Result, error) {
			<-ctx.Done()
			return sallyport.Result{}, ctx.Err()
		}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, newState(t), costs.Budgets{Principal: costs.Budget{Day: usd("3")}})
			s.sell(t, "tool", tt.most, tt.run)
			s.buy(t, "ann", "s", "tool")
			total, err := s.book.Totals(t.Context(), costs.Spender{Principal: "ann", Session: "s"})
			if err != nil || total.Principal.Cmp(usd(tt.want)) != 0 {
				t.Errorf("counted %v, %v; want %s", total.Principal, err, tt.want)
			}
		})
	}
}

func TestABudgetThatCannotBeCountedRefuses(t *testing.T) {
	t.Parallel()
	state := newState(t)
	s := newShop(t, state, costs.Budgets{Principal: costs.Budget{Day: usd("3")}})
	s.sell(t, "paid", 1, costing(1, nil))
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	if res := s.buy(t, "ann", "s", "paid"); res.Code != sallyport.CodeNotAvailable || s.sells.Load() != 0 {
		t.Errorf("Call = %+v after %d runs, want not_available and none", res, s.sells.Load())
	}
}

func TestAPriceThatIsNoAmountIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t, newState(t), costs.Budgets{})
	for _, price := range []float64{-1, 1e300, usdNaN()} {
		err := s.Register(sallyport.Tool{Name: "t", MaxCostUSD: price, Run: costing(0, nil)})
		if err == nil || !strings.Contains(err.Error(), "MaxCostUSD") {
			t.Errorf("Register with a price of %v: %v", price, err)
		}
	}
}

func usdNaN() float64 { zero := 0.0; return zero / zero }
