package signin_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/signin"
)

func TestAFlowEndsInItsBrowserOnce(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	f, err := signin.NewFlows(func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	other, err := signin.NewFlows(func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	flow, sealed, err := f.BeginFlow()
	if err != nil || strings.Contains(sealed, flow.State) {
		t.Fatalf("BeginFlow = %v, %q, %v", flow, sealed, err)
	}
	_, another, err := f.BeginFlow()
	if err != nil {
		t.Fatal(err)
	}
	_, foreign, err := other.BeginFlow()
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string][2]string{
		"no browser": {"", flow.State}, "no state": {sealed, ""}, "a forged state": {sealed, flow.State + "x"},
		"another browser": {another, flow.State}, "the browser of another process": {foreign, flow.State},
		"a changed browser": {"A" + sealed[1:], flow.State}, "a long one": {strings.Repeat("A", 4096), flow.State},
	} {
		if got, err := f.TakeFlow(tt[0], tt[1]); !errors.Is(err, signin.ErrFlow) {
			t.Errorf("%s: TakeFlow = %v, %v, want ErrFlow", name, got, err)
		}
	}
	for _, at := range []time.Duration{signin.FlowLife, -time.Second} {
		now = now.Add(at)
		if got, err := f.TakeFlow(sealed, flow.State); !errors.Is(err, signin.ErrFlow) {
			t.Errorf("after %v TakeFlow = %v, %v, want ErrFlow", at, got, err)
		}
		now = now.Add(-at)
	}
	now = now.Add(signin.FlowLife - time.Second)
	if got, err := f.TakeFlow(sealed, flow.State); err != nil || *got != *flow {
		t.Errorf("TakeFlow = %v, %v, want %v", got, err, flow)
	}
	if got, err := f.TakeFlow(sealed, flow.State); !errors.Is(err, signin.ErrFlow) {
		t.Errorf("TakeFlow again = %v, %v, want ErrFlow", got, err)
	}
}

func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	a := signin.NewAttempts(func() time.Time { return now })
	count := func(addresses ...string) (n int) {
		for _, address := range addresses {
			if _, ok := a.AdmitTry(address); ok {
				n++
			}
		}
		return n
	}
	for _, same := range [][2]string{{"192.0.2.1:1", "192.0.2.1:2"}, {"[2001:db8::1]:1", "[2001:db8::ffff:2]:1"}, {"[::ffff:192.0.2.9]:1", "192.0.2.9:1"}} {
		if got := count(slices.Repeat(same[:], 10)...); got != 10 {
			t.Errorf("%v: %d of 20 tries are looked at, want 10", same, got)
		}
	}
	if wait, ok := a.AdmitTry("192.0.2.1:3"); ok || wait != time.Minute {
		t.Errorf("one more try = %v, %v, want a minute", wait, ok)
	}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("10.0.%d.%d:1", i/250, i%250))
	}
	if got := count(many...); got != 270 {
		t.Errorf("%d tries of other addresses are looked at, want the 270 that are left", got)
	}
	now = now.Add(time.Minute)
	if got := count("192.0.2.1:1"); got != 1 {
		t.Error("after a minute no try is looked at")
	}
}
