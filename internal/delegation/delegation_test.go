package delegation_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/delegation"
)

func callOf(id, principal string) *sallyport.Call {
	return &sallyport.Call{ID: id, Session: "s", Personality: "role", Principal: sallyport.Principal{Name: principal, Person: true}}
}

func begin(t *testing.T, b *delegation.Book, c *sallyport.Call, remote bool) *delegation.Delegation {
	t.Helper()
	d, err := b.Begin(t.Context(), c, delegation.Terms{Calls: 10, Until: time.Now().Add(time.Hour)}, remote)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// under returns a call that a sub-agent makes.
func under(d *delegation.Delegation, id string) *sallyport.Call {
	c := callOf(id, d.Principal.Name)
	c.Principal = d.Principal
	return c
}

func TestACredentialIsGoodForItsDelegationAlone(t *testing.T) {
	t.Parallel()
	b := delegation.NewBook()
	outer := begin(t, b, callOf("one", "ann"), true)
	inner := begin(t, b, under(outer, "two"), true)
	now := time.Now()
	for _, d := range []*delegation.Delegation{outer, inner} {
		if got := b.Verify(d.Credential(), now); got != d {
			t.Errorf("Verify(%s) = %v, want its delegation", d.Credential(), got)
		}
	}
	if p := inner.Principal; p.Name != "ann" || p.Person || p.Delegation != "two" || !p.MayTake("role") || p.MayTake("other") {
		t.Errorf("the sub-agent is %+v", p)
	}
	seal := func(d *delegation.Delegation) string {
		return d.Credential()[strings.LastIndexByte(d.Credential(), '.'):]
	}
	local := begin(t, b, callOf("three", "ann"), false)
	other := begin(t, delegation.NewBook(), callOf("one", "ann"), true)
	for what, text := range map[string]string{
		"nothing":             "",
		"another process's":   other.Credential(),
		"a program's":         local.Credential(),
		"a seal of another":   "sallyport_task_one" + seal(inner),
		"a link left out":     "sallyport_task_two" + seal(inner),
		"a link added":        "sallyport_task_one/two/two" + seal(inner),
		"a token":             "sallyport_" + strings.Repeat("A", 43),
		"cut":                 inner.Credential()[:len(inner.Credential())-1],
		"longer":              inner.Credential() + "A",
		"without a seal":      "sallyport_task_one/two",
		"an empty seal":       "sallyport_task_one.",
		"another last letter": inner.Credential()[:len(inner.Credential())-1] + "_",
		"huge":                inner.Credential() + strings.Repeat("A", 1<<20),
	} {
		if d := b.Verify(text, now); d != nil && text != inner.Credential() {
			t.Errorf("%s: Verify(%.60s) = %s, want nothing", what, text, d.ID)
		}
	}
	if b.Verify(inner.Credential(), now.Add(2*time.Hour)) != nil {
		t.Error("an expired credential counts")
	}
	outer.End()
	for _, d := range []*delegation.Delegation{outer, inner} {
		if b.Verify(d.Credential(), now) != nil || b.Find(d.ID) != nil {
			t.Errorf("%s counts after the end of the one around it", d.ID)
		}
	}
	if _, err := b.Begin(t.Context(), under(outer, "four"), delegation.Terms{Calls: 1, Until: now.Add(time.Hour)}, true); err == nil {
		t.Error("a sub-agent delegates after its end")
	}
}

func TestDelegationsAreBounded(t *testing.T) {
	t.Parallel()
	b := delegation.NewBook()
	c := callOf("depth-1", "ann")
	for i := 1; i <= 3; i++ {
		c = under(begin(t, b, c, false), fmt.Sprintf("depth-%d", i+1))
	}
	var e *sallyport.Error
	if _, err := b.Begin(t.Context(), c, delegation.Terms{Calls: 1, Until: time.Now().Add(time.Hour)}, false); !errors.As(err, &e) || e.Code != sallyport.CodePermissionDenied {
		t.Errorf("a fourth one within the others: %v, want permission_denied", err)
	}
	for i := 4; i <= 16; i++ {
		begin(t, b, callOf(fmt.Sprint("wide-", i), "ann"), false)
	}
	if _, err := b.Begin(t.Context(), callOf("more", "ann"), delegation.Terms{Calls: 1, Until: time.Now().Add(time.Hour)}, false); !errors.As(err, &e) || !errors.Is(err, delegation.ErrFull) {
		t.Errorf("a seventeenth one: %v, want no room", err)
	}
	begin(t, b, callOf("hers", "bob"), false) // No other caller waits for ann.
}

// A thousand delegations of a few principals at once: each is admitted or told to come
// back, and none leaves anything.
func TestAThousandDelegations(t *testing.T) {
	t.Parallel()
	b := delegation.NewBook()
	var wg sync.WaitGroup
	var mu sync.Mutex
	admitted := 0
	for i := range 1000 {
		wg.Go(func() {
			d, err := b.Begin(context.Background(), callOf(fmt.Sprint("call-", i), fmt.Sprint("p", i%10)), delegation.Terms{Calls: 3, Until: time.Now().Add(time.Hour)}, true)
			if err != nil {
				if !errors.Is(err, delegation.ErrFull) {
					t.Error(err)
				}
				return
			}
			for n := range 5 {
				if why := d.Admit(time.Now()); (why == "") != (n < 3) {
					t.Errorf("call %d: %q", n, why)
				}
			}
			if b.Verify(d.Credential(), time.Now()) != d {
				t.Error("its credential does not count")
			}
			d.End()
			d.End()
			mu.Lock()
			defer mu.Unlock()
			admitted++
		})
	}
	wg.Wait()
	if admitted == 0 {
		t.Error("none was admitted")
	}
	for i := range 10 {
		for n := range 16 { // There is room for as many as before.
			begin(t, b, callOf(fmt.Sprint("later-", i, "-", n), fmt.Sprint("p", i)), false)
		}
	}
}

// A delegation ends with its time, with its call and with the one around it.
func TestADelegationEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := delegation.NewBook()
		ctx, cancel := context.WithCancel(t.Context())
		terms := func(d time.Duration) delegation.Terms {
			return delegation.Terms{Calls: 10, Until: time.Now().Add(d)}
		}
		outer, err := b.Begin(ctx, callOf("one", "ann"), terms(time.Hour), false)
		if err != nil {
			t.Fatal(err)
		}
		short, _ := b.Begin(t.Context(), under(outer, "two"), terms(time.Minute), false)
		long, _ := b.Begin(t.Context(), under(outer, "three"), terms(24*time.Hour), false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if b.Find("two") != nil || short.Admit(time.Now()) == "" {
			t.Error("a delegation goes on after its time")
		}
		if b.Find("three") != long || long.Admit(time.Now()) != "" {
			t.Error("the one beside it ended, too")
		}
		cancel()
		synctest.Wait()
		if long.Context().Err() == nil || b.Find("three") != nil || long.Admit(time.Now()) == "" {
			t.Error("a delegation goes on after the end of the call around it")
		}
		for _, d := range []*delegation.Delegation{outer, short, long} {
			d.End()
		}
	})
}

// Fractions that have no exact form in binary add up to what they say.
func TestABudgetIsSpentToTheCent(t *testing.T) {
	t.Parallel()
	b := delegation.NewBook()
	d, err := b.Begin(t.Context(), callOf("one", "ann"), delegation.Terms{Calls: 10, CostUSD: 0.3, Until: time.Now().Add(time.Hour)}, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if why := d.Admit(time.Now()) + d.Reserve(0.1); why != "" {
			t.Fatalf("call %d of three at 0.1 within 0.3: %s", i+1, why)
		}
		d.Settle(0.1, 0.1)
	}
	if why := d.Reserve(1e-9); why != "the task has 0 of its 0.3 US dollars left" {
		t.Errorf("a fourth call for less than anything: %q", why)
	}
	if calls, cost := d.Used(); calls != 3 || cost != 0.3 {
		t.Errorf("%d calls cost %v, want 3 and 0.3", calls, cost)
	}
	// What is no number neither gives back what is spent nor hides what comes after it.
	d.Settle(0, math.NaN())
	d.Settle(0, math.Inf(1))
	if why := d.Admit(time.Now()); why != "the task has spent its 0.3 US dollars" {
		t.Errorf("after all is spent: %q", why)
	}
}
