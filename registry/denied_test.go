package registry_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// TestADenialOfAnAddressNamesItsEntry: a host that is refused for where its name leads names
// the entries of the deny list that would have to go, and is none that nothing lifts.
func TestADenialOfAnAddressNamesItsEntry(t *testing.T) {
	t.Parallel()
	g := newGateWith(t, &sallyport.Personality{
		Name:    "role",
		Network: &sallyport.NetworkPolicy{Allow: []string{"*.example"}, Deny: []string{"other.example", "9.9.9.9", "bad.test"}},
		Sources: map[string]string{"safety.network.deny": "sallyport.yaml:8:9", "safety.network.deny.1": "sallyport.yaml:8:25", "safety.network.deny.2": "sallyport.yaml:8:40"},
	}, &sallyport.Backends{Network: &sallyport.NetworkBackend{Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
		if host == "bad.test" || host == "twin.example" {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("9.9.9.9")}, nil
	}}})
	g.add(sallyport.Tool{
		Name: "tool", Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			_, err := c.Network.DialContext(ctx, "tcp", "a.example:443")
			_, err2 := c.Network.DialContext(ctx, "tcp", "twin.example:443")
			return sallyport.Result{}, errors.Join(err, err2)
		},
	})
	call(g, "tool", "")
	want := map[string][2]string{
		"a.example":    {"sallyport.yaml:8:25", "take 9.9.9.9 off personalities.role.safety.network.deny"},
		"twin.example": {"sallyport.yaml:8:40", "take bad.test off personalities.role.safety.network.deny, or list twin.example by itself in personalities.role.safety.network.allow"},
	}
	for _, d := range g.recorder.last().Decisions {
		if d.Step != sallyport.StepAccess {
			continue
		}
		if w := want[d.Resource]; d.Allowed || d.Source != w[0] || d.Fix != w[1] || reach.IsFinal(&d) {
			t.Errorf("refusal = %+v, want the entry at %s and %q", d, w[0], w[1])
		}
		delete(want, d.Resource)
	}
	if len(want) > 0 {
		t.Errorf("no refusal of %v in the trail", want)
	}
}

// TestADeniedAddressOfAChildNamesTheList: what is known of a child's host has no address.
func TestADeniedAddressOfAChildNamesTheList(t *testing.T) {
	t.Parallel()
	const why = "resolves to an address that is on the deny list"
	runner := &scopedtest.Runner{Play: func(context.Context, scopedtest.Spawned) (sallyport.ProcessResult, error) {
		return sallyport.ProcessResult{Touched: sallyport.Touched{Hosts: []sallyport.HostUse{{Host: "a.example", Port: 443, Why: why, Connections: 1}}}}, nil
	}}
	g := newGateWith(t, &sallyport.Personality{
		Name: "role", Process: []string{"curl"},
		Network: &sallyport.NetworkPolicy{Allow: []string{"*.example"}, Deny: []string{"9.9.9.9"}},
		Sources: map[string]string{"safety.network.deny": "sallyport.yaml:8:9"},
	}, &sallyport.Backends{Network: &sallyport.NetworkBackend{}, Process: runner})
	g.add(sallyport.Tool{
		Name: "tool", Capabilities: sallyport.Capabilities{
			Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*.example"}}, Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"curl"}},
		},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			_, err := c.Process.Spawn(ctx, "curl", nil, nil)
			return sallyport.Result{}, err
		},
	})
	call(g, "tool", "")
	for _, d := range g.recorder.last().Decisions {
		if d.Resource == "a.example" {
			if want := "take what covers an address of a.example off personalities.role.safety.network.deny"; d.Allowed || d.Source != "sallyport.yaml:8:9" || d.Fix != want {
				t.Errorf("refusal = %+v, want %q", d, want)
			}
			return
		}
	}
	t.Errorf("no refusal of the host in %+v", g.recorder.last().Decisions)
}

// TestADeniedAddressOnTheFloorNamesWhatLiftsIt: nothing, or what has to be granted, too.
func TestADeniedAddressOnTheFloorNamesWhatLiftsIt(t *testing.T) {
	t.Parallel()
	g := newGateWith(t, &sallyport.Personality{
		Name:    "role",
		Network: &sallyport.NetworkPolicy{Allow: []string{"*"}, Deny: []string{"169.254.169.254", "metadata.google.internal", "10.0.0.1", "9.9.9.9"}},
		Sources: map[string]string{"safety.network.deny.2": "sallyport.yaml:8:25", "safety.network.deny.3": "sallyport.yaml:8:40"},
	}, &sallyport.Backends{Network: &sallyport.NetworkBackend{}})
	g.add(sallyport.Tool{
		Name: "tool", Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}}, Run: echo,
	})
	x, err := g.Explain(g.caller(), "tool")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		host, source, fix string
		final             bool
	}{
		{"169.254.169.254", reach.FloorSource, "", true},
		{"metadata.google.internal", reach.FloorSource, "", true},
		{"10.0.0.1", "sallyport.yaml:8:25", "take 10.0.0.1 off personalities.role.safety.network.deny, and add 10.0.0.1:80 to personalities.role.safety.network.allow_private", false},
		{"9.9.9.9", "sallyport.yaml:8:40", "take 9.9.9.9 off personalities.role.safety.network.deny", false},
	} {
		if d := x.Host(c.host, 80); d.Allowed || d.Source != c.source || d.Fix != c.fix || reach.IsFinal(&d) != c.final {
			t.Errorf("%s: %+v, want %q at %s", c.host, d, c.fix, c.source)
		}
	}
}
