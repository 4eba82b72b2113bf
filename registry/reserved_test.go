package registry_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// newReservingGate returns a gate with a tool that connects to a host, and 127.0.0.1:7331
// is reserved.
func newReservingGate(t *testing.T, private ...string) *gate {
	t.Helper()
	at := netip.MustParseAddrPort("127.0.0.1:7331")
	g := newGateWith(t, &sallyport.Personality{
		Name: "role", Network: &sallyport.NetworkPolicy{Allow: []string{"127.0.0.1:7331", "127.0.0.1:8080", "localhost:7331"}, Private: private},
		Sources: map[string]string{"safety.network.allow": "f:1:1", "safety.network.allow_private": "f:3:3"},
	}, &sallyport.Backends{Network: &sallyport.NetworkBackend{RefuseAddress: func(to netip.AddrPort) (string, error) {
		if to == at {
			return "a listener of this test", nil
		}
		return "", nil
	}}})
	g.add(sallyport.Tool{
		Name: "tool", Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*", "*:7331", "*:8080"}}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			_, err := c.Network.DialContext(ctx, "tcp", at.String())
			return sallyport.Result{}, err
		},
	})
	return g
}

func TestExplainSaysThatNothingOpensAReservedAddress(t *testing.T) {
	t.Parallel()
	for _, private := range [][]string{nil, {"127.0.0.1:7331", "127.0.0.1:8080"}} {
		g := newReservingGate(t, private...)
		x, err := g.Explain(g.caller(), "tool")
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range []string{"127.0.0.1", "localhost"} {
			d := x.Host(host, 7331)
			if d.Allowed || d.Source != "always-deny floor" || d.Fix != "" || !strings.Contains(d.Why, "a listener of this test") {
				t.Errorf("with %v: Host(%s, 7331) = %+v, want a refusal that nothing lifts", private, host, d)
			}
		}
		if d := x.Host("127.0.0.1", 8080); d.Allowed != (private != nil) || !d.Allowed && d.Fix == "" {
			t.Errorf("with %v: Host(127.0.0.1, 8080) = %+v", private, d)
		}
	}
}

func TestARefusedReservedAddressHasNoFix(t *testing.T) {
	t.Parallel()
	for _, private := range [][]string{nil, {"127.0.0.1:7331"}} {
		g := newReservingGate(t, private...)
		if res := g.Call(t.Context(), g.caller(), sallyport.Request{Tool: "tool"}); res.OK {
			t.Fatal("the tool connected")
		}
		seen := false
		for _, e := range g.recorder.events {
			for _, d := range e.Decisions {
				if d.Step != sallyport.StepAccess || d.Allowed {
					continue
				}
				seen = true
				if d.Fix != "" || d.Source != "always-deny floor" || !strings.Contains(d.Why, "a listener of this test") {
					t.Errorf("with %v: the record says %+v, want no change that lifts it", private, d)
				}
			}
		}
		if !seen {
			t.Errorf("with %v: the record has no refusal", private)
		}
	}
}
