package registry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

func TestCeilingsOfSecretsAndBinaries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name             string
		secrets, process []string
		wantSecrets      string
		wantBinaries     string
		dropped          int
	}{
		{name: "none", wantSecrets: "[a/b c/*]", wantBinaries: "[git]"},
		{name: "empty lists", secrets: []string{}, process: []string{}, wantSecrets: "[]", wantBinaries: "[]", dropped: 3},
		{name: "part", secrets: []string{"c/d"}, process: []string{"ls"}, wantSecrets: "[c/d]", wantBinaries: "[]", dropped: 2},
		{name: "all", secrets: []string{"a/*", "c/*"}, process: []string{"*"}, wantSecrets: "[a/b c/*]", wantBinaries: "[git]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, &sallyport.Personality{Name: "role", Secrets: tt.secrets, Process: tt.process})
			g.add(sallyport.Tool{Name: "tool", Run: echo, Capabilities: sallyport.Capabilities{
				Secrets: []string{"c/*", "a/b"}, Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"git"}},
			}})
			x, err := g.Explain(g.caller(), "tool")
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(x.Grant.Secrets); got != tt.wantSecrets {
				t.Errorf("secrets = %s, want %s", got, tt.wantSecrets)
			}
			if got := fmt.Sprint(x.Grant.Process.Binaries); got != tt.wantBinaries {
				t.Errorf("binaries = %s, want %s", got, tt.wantBinaries)
			}
			if n := len(x.Grant.Dropped); n != tt.dropped || len(g.Misfits("role")) != n {
				t.Errorf("dropped = %+v, misfits = %v, want %d of each", x.Grant.Dropped, g.Misfits("role"), tt.dropped)
			}
		})
	}
}

func TestAnEmptyVariableIsNoPath(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	r, err := registry.New(&sallyport.Backends{Files: &sallyport.FileBackend{Home: t.TempDir()}}, &registry.Options{Recorder: rec, Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Registry: r, t: t, recorder: rec}
	g.add(sallyport.Tool{Name: "tool", Run: echo, Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.Paths("${home}/x")}}})
	res := call(g, "tool", "")
	if e := rec.last(); res.Code != sallyport.CodeNotAvailable || e.Stage != sallyport.StepGrant || strings.Contains(res.Error, "home") {
		t.Errorf("Call() = %+v at %s, want not_available at the grant", res, e.Stage)
	}
}

func TestTheCacheForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := registry.New(nil, &registry.Options{CacheEntries: 2})
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		if err := r.Register(sallyport.Tool{Name: "tool", Schema: open, Cache: &sallyport.Cache{TTL: time.Minute}, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			runs++
			return sallyport.OK(""), nil
		}}); err != nil {
			t.Fatal(err)
		}
		caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Session: "s"}
		ask := func(args string, fresh bool) {
			t.Helper()
			before := runs
			r.Call(t.Context(), caller, sallyport.Request{Tool: "tool", Args: []byte(args)})
			if (runs > before) != fresh {
				t.Errorf("%s ran = %v, want %v", args, runs > before, fresh)
			}
		}
		ask(`{"n":1}`, true)
		ask(`{"n":2}`, true)
		ask(`{"n":1}`, false)
		ask(`{"n":3}`, true) // pushes 2 out, the longest unused
		ask(`{"n":1}`, false)
		ask(`{"n":2}`, true)
		time.Sleep(time.Minute)
		ask(`{"n":1}`, true)
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestPathAsksTheToolsOwnAccessor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := newGate(t, &sallyport.Personality{Name: "role", Toolset: []string{"files", "none"}, FSReach: &sallyport.Reach{Read: []string{dir}}})
	capable := sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}}
	g.add(sallyport.Tool{Name: "files", Run: echo, Capabilities: capable})
	g.add(sallyport.Tool{Name: "none", Run: echo})
	g.add(sallyport.Tool{Name: "hidden", Run: echo, Capabilities: capable})
	tests := []struct {
		name, tool, operation, path string
		want                        bool
	}{
		{name: "within", tool: "files", operation: "read", path: dir + "/a", want: true},
		{name: "outside", tool: "files", operation: "read", path: "/etc/hostname"},
		{name: "not granted to write", tool: "files", operation: "write", path: dir + "/a"},
		{name: "no reach", tool: "none", operation: "read", path: dir + "/a"},
		{name: "hidden", tool: "hidden", operation: "read", path: dir + "/a"},
		{name: "unknown", tool: "nobody", operation: "read", path: dir + "/a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := g.Path(t.Context(), g.caller(), tt.tool, tt.operation, tt.path)
			if d.Allowed != tt.want || !d.Allowed && d.Why == "" {
				t.Errorf("Path(%s, %s, %s) = %+v, want allowed = %v, a refusal with its reason", tt.tool, tt.operation, tt.path, d, tt.want)
			}
		})
	}
}
