package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

func TestAnAccessRefusalNamesItsRule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newGate(t, &sallyport.Personality{
		Name: "role", FSReach: &sallyport.Reach{Read: []string{dir}},
		Sources: map[string]string{"fs_reach.read": "sallyport.yaml:9:7"},
	})
	g.add(sallyport.Tool{
		Name: "read", Schema: open, ReadOnly: true,
		Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}},
		Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			var in struct{ Path string }
			if err := json.Unmarshal(c.Args, &in); err != nil {
				return sallyport.Result{}, err
			}
			b, err := fs.ReadFile(c.FS, in.Path)
			return sallyport.OK(string(b)), err
		},
	})
	if res := call(g, "read", `{"path":"`+filepath.Join(dir, "a")+`"}`); res.Value != "text" {
		t.Errorf("Call(a) = %+v, want its content", res)
	}
	res := call(g, "read", `{"path":"/srv/data.txt"}`)
	if want := "PATH_NOT_REACHABLE: read not permitted for /srv/data.txt"; res.Error != want {
		t.Errorf("error = %q, want %q", res.Error, want)
	}
	for _, d := range g.recorder.last().Decisions {
		if d.Step == sallyport.StepAccess && !d.Allowed {
			if d.Source != "sallyport.yaml:9:7" || d.Fix != "add /srv/data.txt to personalities.role.fs_reach.read" {
				t.Errorf("refusal = %+v, want its rule and the smallest change", d)
			}
			return
		}
	}
	t.Errorf("no refusal in the trail: %+v", g.recorder.last().Decisions)
}

func TestARefusalOfAPersonalityWithoutACeilingNamesTheChange(t *testing.T) {
	t.Parallel()
	g := newGate(t, &sallyport.Personality{Name: "role", Sources: map[string]string{"": "sallyport.yaml:3:3"}})
	g.add(sallyport.Tool{
		Name: "tool", Capabilities: sallyport.Capabilities{
			Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}},
			FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()},
		},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			_, err := c.Network.DialContext(ctx, "tcp", "api.example:443")
			_, err2 := c.FS.ReadFile("/srv/a")
			return sallyport.Result{}, errors.Join(err, err2)
		},
	})
	call(g, "tool", "")
	want := map[string]string{
		"api.example": "add api.example to personalities.role.safety.network.allow",
		"/srv/a":      "add /srv/a to personalities.role.fs_reach.read",
	}
	for _, d := range g.recorder.last().Decisions {
		if d.Step != sallyport.StepAccess {
			continue
		}
		if d.Fix != want[d.Resource] || d.Source != "sallyport.yaml:3:3" {
			t.Errorf("refusal = %+v, want the change %q", d, want[d.Resource])
		}
		delete(want, d.Resource)
	}
	if len(want) > 0 {
		t.Errorf("no refusal of %v in the trail", want)
	}
	x, err := g.Explain(g.caller(), "tool")
	if err != nil || len(x.Grant.Dropped) != 2 || x.Grant.Dropped[0].Fix == "" || x.Grant.Dropped[1].Fix == "" {
		t.Errorf("dropped = %+v, %v, want two items with a change each", x.Grant.Dropped, err)
	}
}

// TestARefusalOfADeclaredHostNamesTheRole: the declaration covers the host by a
// wildcard, so that only the role's list is too narrow.
func TestARefusalOfADeclaredHostNamesTheRole(t *testing.T) {
	t.Parallel()
	g := newGate(t, &sallyport.Personality{
		Name:    "role",
		Network: &sallyport.NetworkPolicy{Allow: []string{"a.api.example"}},
		Sources: map[string]string{"safety.network.allow": "sallyport.yaml:8:9"},
	})
	g.add(sallyport.Tool{
		Name: "tool", Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*.api.example"}}},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(""), nil },
	})
	x, err := g.Explain(g.caller(), "tool")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"b.api.example": "add b.api.example to personalities.role.safety.network.allow",
		"evil.example":  "declare evil.example in the tool's capabilities.network",
	} {
		if d := x.Host(host, 443); d.Allowed || d.Fix != want {
			t.Errorf("refusal of %s = %+v, want the change %q", host, d, want)
		}
	}
}

func TestARefusalByTheDenyListNamesTheList(t *testing.T) {
	t.Parallel()
	g := newGate(t, &sallyport.Personality{
		Name:    "role",
		Network: &sallyport.NetworkPolicy{Allow: []string{"*.api.example"}, Deny: []string{"bad.api.example", "worse.api.example:8443"}},
		Sources: map[string]string{"safety.network.deny": "sallyport.yaml:8:9"},
	})
	g.add(sallyport.Tool{
		Name: "tool", Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			_, err := c.Network.DialContext(ctx, "tcp", "bad.api.example:443")
			return sallyport.Result{}, err
		},
	})
	call(g, "tool", "")
	x, err := g.Explain(g.caller(), "tool")
	if err != nil {
		t.Fatal(err)
	}
	asked := []sallyport.Decision{x.Host("bad.api.example", 443)}
	for _, d := range g.recorder.last().Decisions {
		if d.Step == sallyport.StepAccess {
			asked = append(asked, d)
		}
	}
	if len(asked) != 2 {
		t.Fatalf("decisions = %+v, want the one of explain and that of the call", asked)
	}
	for _, d := range asked {
		want := "take bad.api.example off personalities.role.safety.network.deny"
		if d.Allowed || d.Source != "sallyport.yaml:8:9" || d.Fix != want {
			t.Errorf("refusal = %+v, want the deny list and how to change it", d)
		}
	}
}

// TestAFixBeginsWithItsCommand wherever a refusal is told: by misfits, by explain
// and in the record. A rule that no grant lifts has no command.
func TestAFixBeginsWithItsCommand(t *testing.T) {
	t.Parallel()
	kept := &recorder{}
	role := &sallyport.Personality{Name: "role", Network: &sallyport.NetworkPolicy{Allow: []string{"a.example", "b.example"}, Deny: []string{"bad.example"}}}
	r, err := registry.New(&sallyport.Backends{Personalities: one{role}, Network: &sallyport.NetworkBackend{}}, &registry.Options{
		Recorder: kept,
		FixCommand: func(tool, role, capability, item string) string {
			return "sallyport grant " + strings.Join([]string{tool, role, capability, item}, " ") + " --config X"
		},
		CommandLine: func(command string) string { return "sallyport " + command + " --config X" },
	})
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{t: t, Registry: r, recorder: kept, role: "role"}
	g.add(sallyport.Tool{
		Name: "all", Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			_, err := c.Network.DialContext(ctx, "tcp", "f.example:443")
			return sallyport.Result{}, err
		},
	})
	g.add(sallyport.Tool{
		Name: "written", Sources: map[string]string{}, Run: echo,
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example"}}},
	})
	g.add(sallyport.Tool{
		Name: "one", Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example", "c.example"}}},
		Run: echo,
	})
	g.add(sallyport.Tool{
		Name: "stripped", Schema: open, Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"c.example"}}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			_, err := c.Network.DialContext(ctx, "tcp", "c.example:443")
			return sallyport.Result{}, err
		},
	})
	x, err := g.Explain(g.caller(), "all")
	if err != nil {
		t.Fatal(err)
	}
	one, err := g.Explain(g.caller(), "one")
	if err != nil {
		t.Fatal(err)
	}
	written, err := g.Explain(g.caller(), "written")
	if err != nil {
		t.Fatal(err)
	}
	refusedBy := func(tool string) sallyport.Decision {
		call(g, tool, `{}`)
		trail := kept.last().Decisions
		return trail[slices.IndexFunc(trail, func(d sallyport.Decision) bool { return !d.Allowed && d.Step == sallyport.StepAccess })]
	}
	for _, tt := range []struct{ name, got, want string }{
		{"a dropped host", refusedBy("stripped").Fix, "sallyport grant stripped role network c.example --config X, or add c.example to personalities.role.safety.network.allow"},
		{"call", refusedBy("all").Fix, "sallyport grant all role network f.example --config X, or add f.example to personalities.role.safety.network.allow"},
		{"explain", x.Host("d.example", 443).Fix, "sallyport grant all role network d.example --config X, or add d.example to personalities.role.safety.network.allow"},
		{"private", x.Host("127.0.0.1", 8080).Fix, "sallyport grant all role network 127.0.0.1:8080 --config X, or add 127.0.0.1:8080 to personalities.role.safety.network.allow_private"},
		{"floor", x.Host("169.254.169.254", 80).Fix, ""},
		{"deny", x.Host("bad.example", 443).Fix, "take bad.example off personalities.role.safety.network.deny"},
		{"undeclared", one.Host("e.example", 443).Fix, "declare e.example in the tool's capabilities.network, and then run sallyport grant one role network e.example --config X"},
		{"undeclared, of the role", one.Host("b.example", 443).Fix, "declare b.example in the tool's capabilities.network"},
		{"undeclared by the configuration", written.Host("e.example", 443).Fix, "sallyport grant written role network e.example --config X, or declare e.example in the tool's capabilities.network"},
		{"misfit", g.Misfits("role")[0].Fix, "sallyport grant one role network c.example --config X, or add c.example to personalities.role.safety.network.allow"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: fix = %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

// TestAPrivateAddressKeepsItsPort in the fix, whether or not a role grants hosts.
func TestAPrivateAddressKeepsItsPort(t *testing.T) {
	t.Parallel()
	for _, allow := range [][]string{{}, {"b.example"}} {
		g := newGate(t, &sallyport.Personality{Name: "role", Network: &sallyport.NetworkPolicy{Allow: allow, Private: []string{"127.0.0.1:8099"}}})
		g.add(sallyport.Tool{
			Name: "tool", Schema: open, Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}},
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				var in struct{ URL string }
				if err := json.Unmarshal(c.Args, &in); err != nil {
					return sallyport.Result{}, err
				}
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL, nil)
				if err != nil {
					return sallyport.Result{}, err
				}
				_, err = c.Network.Client().Do(r)
				return sallyport.Result{}, err
			},
		})
		for url, want := range map[string]string{
			"http://127.0.0.1:8080/":  "add 127.0.0.1:8080 to personalities.role.safety.network.allow_private",
			"http://127.0.0.1/":       "add 127.0.0.1:80 to personalities.role.safety.network.allow_private",
			"http://localhost/":       "add 127.0.0.1:80 to personalities.role.safety.network.allow_private",
			"http://[::1]/":           "add [::1]:80 to personalities.role.safety.network.allow_private",
			"https://localhost/":      "add 127.0.0.1:443 to personalities.role.safety.network.allow_private",
			"http://localhost:8099/":  "add localhost:8099 to personalities.role.safety.network.allow", // its address is there
			"http://[::1]:99/":        "add [::1]:99 to personalities.role.safety.network.allow_private",
			"https://a.example/":      "add a.example to personalities.role.safety.network.allow",
			"https://a.example:8443/": "add a.example:8443 to personalities.role.safety.network.allow",
		} {
			call(g, "tool", `{"url":"`+url+`"}`)
			trail := g.recorder.last().Decisions
			if d := trail[slices.IndexFunc(trail, func(d sallyport.Decision) bool { return !d.Allowed })]; d.Fix != want {
				t.Errorf("%s beside %v: fix = %q, want %q", url, allow, d.Fix, want)
			}
		}
	}
}

func TestALifetimeFitsItsType(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	storage := func(seconds int64) sallyport.Tool {
		return sallyport.Tool{Name: "tool", Run: echo, Capabilities: sallyport.Capabilities{
			Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeSession, Kind: "kv", TTLSecondsDefault: seconds},
		}}
	}
	if err := g.Register(storage(math.MaxInt64)); err == nil {
		t.Error("Register() with a lifetime beyond a duration = nil, want a fault")
	}
	if err := g.Register(storage(math.MaxInt64 / int64(time.Second))); err != nil {
		t.Errorf("Register() with the longest lifetime = %v", err)
	}
}
