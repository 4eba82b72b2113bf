package registry_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// asked counts how often a runner is asked what it confines.
type asked struct {
	*scopedtest.Runner
	times atomic.Int32
}

func (a *asked) Confines(g *sallyport.Grant) (sallyport.Level, error) {
	a.times.Add(1)
	return a.Runner.Confines(g)
}

// starter is a tool that starts what its declaration names first, or nothing.
func starter(binaries ...string) sallyport.Tool {
	return sallyport.Tool{
		Name: "start", Schema: open,
		Capabilities: sallyport.Capabilities{Process: &sallyport.ProcessCapability{AllowedBinaries: binaries}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			if string(c.Args) == `{"idle":true}` {
				return sallyport.OK("idle"), nil
			}
			_, err := c.Process.Spawn(ctx, binaries[0], nil, nil)
			return sallyport.OK("done"), err
		},
	}
}

func confiningGate(t *testing.T, p *sallyport.Personality, r *scopedtest.Runner) (*gate, *asked) {
	t.Helper()
	a := &asked{Runner: r}
	return newGateWith(t, p, &sallyport.Backends{
		Process: a, Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()},
	}), a
}

func TestAMissingLayerRefusesTheCall(t *testing.T) {
	t.Parallel()
	lacking := &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: "user namespaces are switched off"}
	tests := []struct {
		name    string
		missing error
		want    string
	}{
		{"named", lacking, "Tool start is not currently available: user namespaces are switched off"},
		{"a driver's own words", errors.New("open /proc/secret: boom"), "Tool start is not currently available"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runner := &scopedtest.Runner{Missing: tt.missing}
			g, _ := confiningGate(t, &sallyport.Personality{Name: "role"}, runner)
			tool := starter("git")
			tool.Permissions = []string{"shell:run"} // no one holds it: the machine is judged first
			g.add(tool)
			for _, dry := range []bool{false, true} {
				caller := g.caller()
				caller.DryRun = dry
				res := g.Call(t.Context(), caller, sallyport.Request{Tool: "start", Args: []byte("{}")})
				e := g.recorder.last()
				if res.Code != sallyport.CodeNotAvailable || res.Error != tt.want || e.Stage != sallyport.StepBackends {
					t.Errorf("Call(dry run %t) = %+v at %s, want %q at the backends", dry, res, e.Stage, tt.want)
				}
				if len(runner.Spawned()) != 0 || e.Level != sallyport.LevelNone {
					t.Errorf("%d processes, level %q, want none", len(runner.Spawned()), e.Level)
				}
			}
			x, err := g.Explain(g.caller(), "start")
			last := x.Decisions[len(x.Decisions)-1]
			if err != nil || last.Step != sallyport.StepBackends || last.Allowed || last.Why != tt.missing.Error() || x.Level != "" {
				t.Errorf("Explain = %+v, %v, want the refusal and no level", x, err)
			}
			want := "start (role): process: " + tt.missing.Error()
			if d := cmp.Diff(want, g.Misfits("role").Error()); d != "" {
				t.Errorf("Misfits (-want +got):\n%s", d)
			}
		})
	}
}

func TestTheLevelIsRecorded(t *testing.T) {
	t.Parallel()
	runner := &scopedtest.Runner{
		Level: sallyport.LevelStrict,
		Play: func(context.Context, scopedtest.Spawned) (sallyport.ProcessResult, error) {
			return sallyport.ProcessResult{Level: sallyport.LevelFull}, nil
		},
	}
	g, _ := confiningGate(t, nil, runner)
	g.add(starter("git"))
	g.add(sallyport.Tool{Name: "plain", Schema: open, Run: echo})
	tests := []struct {
		tool, args      string
		intent, outcome sallyport.Level
	}{
		{"start", `{}`, sallyport.LevelStrict, sallyport.LevelFull},              // what ran
		{"start", `{"idle":true}`, sallyport.LevelStrict, sallyport.LevelStrict}, // what held
		{"plain", `{}`, sallyport.LevelNone, sallyport.LevelNone},
	}
	for _, tt := range tests {
		if res := call(g, tt.tool, tt.args); !res.OK {
			t.Fatalf("Call(%s) = %+v", tt.tool, res)
		}
		n := len(g.recorder.events)
		intent, outcome := g.recorder.events[n-2], g.recorder.events[n-1]
		if intent.Kind != audit.KindIntent || intent.Level != tt.intent || outcome.Level != tt.outcome {
			t.Errorf("%s %s: levels %q and %q, want %q and %q", tt.tool, tt.args, intent.Level, outcome.Level, tt.intent, tt.outcome)
		}
	}
	if x, err := g.Explain(g.caller(), "start"); err != nil || x.Level != sallyport.LevelStrict {
		t.Errorf("Explain says level %q, %v, want strict", x.Level, err)
	}
}

func TestOnlyGrantedBinariesAskTheRunner(t *testing.T) {
	t.Parallel()
	g, a := confiningGate(t, &sallyport.Personality{Name: "role", Process: []string{"ls"}}, &scopedtest.Runner{Missing: errors.New("no")})
	g.add(starter("git")) // the personality allows none of it
	g.add(sallyport.Tool{Name: "plain", Schema: open, Run: echo})
	call(g, "plain", "{}")
	res := call(g, "start", "{}")
	if want := "BINARY_NOT_ALLOWED: git is not in the declared allowedBinaries"; res.Error != want {
		t.Errorf("Call = %+v, want %q", res, want)
	}
	if n := a.times.Load(); n != 0 {
		t.Errorf("the runner was asked %d times, want never", n)
	}
}

func TestABrokenGrantIsToldAtTheGrant(t *testing.T) {
	t.Parallel()
	g, _ := confiningGate(t, nil, &scopedtest.Runner{})
	tool := starter("git")
	tool.Capabilities.FSReach = &sallyport.FSCapability{Read: sallyport.Paths("${home}/x")}
	g.add(tool)
	if res := call(g, "start", "{}"); res.Code != sallyport.CodeNotAvailable || g.recorder.last().Stage != sallyport.StepGrant {
		t.Errorf("Call = %+v at %s, want not_available at the grant", res, g.recorder.last().Stage)
	}
}

// TestTouchedIsInTheRecord: what a child used stands in the trail with the
// rule and the change for what was refused.
func TestTouchedIsInTheRecord(t *testing.T) {
	t.Parallel()
	runner := &scopedtest.Runner{Play: func(context.Context, scopedtest.Spawned) (sallyport.ProcessResult, error) {
		return sallyport.ProcessResult{
			Touched: sallyport.Touched{
				Hosts:    []sallyport.HostUse{{Host: "evil.example", Port: 443, Connections: 1, Why: "is not in the declared allowedHosts"}},
				Binaries: []string{"/usr/bin/git"},
			},
			Changes: []sallyport.Change{{Path: "/w/.git/hooks/x", Kind: sallyport.ChangeAdded, Why: "always-deny floor"}},
		}, nil
	}}
	g, _ := confiningGate(t, nil, runner)
	g.add(starter("git"))
	if res := call(g, "start", "{}"); !res.OK {
		t.Fatalf("Call = %+v", res)
	}
	var got []sallyport.Decision
	for _, d := range g.recorder.last().Decisions {
		if d.Step == sallyport.StepAccess && d.Resource != "git" {
			got = append(got, d)
		}
	}
	access := sallyport.StepAccess
	want := []sallyport.Decision{
		{
			Step: access, Capability: "network", Resource: "evil.example",
			Why: "a child of git was refused 1 times: is not in the declared allowedHosts",
			Fix: "declare evil.example in the tool's capabilities.network",
		},
		{Step: access, Allowed: true, Capability: "process", Resource: "/usr/bin/git", Why: "started as git"},
		{
			Step: access, Capability: "fs_reach.write", Resource: "/w/.git/hooks/x", Source: "overlay commit",
			Why: "a child of git: added, 0 bytes, not carried over: always-deny floor",
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
}

func TestProcessDeclarations(t *testing.T) {
	t.Parallel()
	write := sallyport.Paths("${workspace}")
	tests := []struct {
		name string
		c    sallyport.Capabilities
		want string // "" accepts
	}{
		{"plain", sallyport.Capabilities{Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"git", "*", "/opt/x/bin/y"}}}, ""},
		{
			"launchers and paths",
			sallyport.Capabilities{Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"sudo", "/usr/bin/docker", "./git"}}},
			"tool: process: binary \"sudo\": asks for privileges that no child gets\n" +
				"tool: process: binary \"/usr/bin/docker\": asks a service of this machine to act outside the confinement\n" +
				"tool: process: binary \"./git\": a relative path in place of a name",
		},
		{
			"nothing to execute from",
			sallyport.Capabilities{Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"go"}, ExecFrom: []string{"${workspace}"}}},
			"tool: process.execFrom: execFrom without fs_reach.write: it lists write reach that may also be executed",
		},
		{
			"overlay",
			sallyport.Capabilities{
				FSReach: &sallyport.FSCapability{Write: write, Mode: sallyport.FSOverlay},
				Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"go"}, ExecFrom: []string{"${workspace}"}},
			},
			"",
		},
		{
			"overlay without processes",
			sallyport.Capabilities{FSReach: &sallyport.FSCapability{Write: write, Mode: sallyport.FSOverlay}},
			"tool: fs_reach: mode overlay without process: only what child processes write goes to a layer",
		},
		{
			"overlay without writes",
			sallyport.Capabilities{
				FSReach: &sallyport.FSCapability{Read: write, Mode: sallyport.FSOverlay},
				Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"go"}},
			},
			"tool: fs_reach: mode overlay without write: there is nothing to carry over",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, nil)
			err := g.Register(sallyport.Tool{Name: "tool", Run: echo, Capabilities: tt.c})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Register (-want +got):\n%s", d)
			}
		})
	}
}

// TestExecFromStaysWithinWrites: what may be executed is what may be written,
// in the grant and not only in the declaration.
func TestExecFromStaysWithinWrites(t *testing.T) {
	t.Parallel()
	g, _ := confiningGate(t, &sallyport.Personality{
		Name: "role", FSReach: &sallyport.Reach{Write: []string{"/data/in"}},
		Sources: map[string]string{"fs_reach.write": "s.yaml:4:5"},
	}, &scopedtest.Runner{})
	tool := starter("go")
	tool.Capabilities.FSReach = &sallyport.FSCapability{Write: sallyport.Paths("/data")}
	tool.Capabilities.Process.ExecFrom = []string{"/data", "/srv"}
	g.add(tool)
	x, err := g.Explain(g.caller(), "start")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"/data/in"}, x.Grant.Process.ExecFrom); d != "" {
		t.Errorf("execFrom (-want +got):\n%s", d)
	}
	if text := g.Misfits("role").Error(); !strings.Contains(text, `process.execFrom: path "/srv" is not in the granted fs_reach.write`) {
		t.Errorf("Misfits = %s, want /srv among them", text)
	}
}

// TestAPersonalityMayAskForALayer has the operator put every child's writes
// into a layer, and leaves tools without children alone.
func TestAPersonalityMayAskForALayer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	runner := &scopedtest.Runner{}
	for _, mode := range []sallyport.FSMode{"", sallyport.FSDirect, sallyport.FSOverlay} {
		role := &sallyport.Personality{Name: "role", FSReach: &sallyport.Reach{Write: []string{dir}, Mode: mode}}
		g, _ := confiningGate(t, role, runner)
		starts, writes := starter("git"), starter("git")
		starts.Capabilities.FSReach = &sallyport.FSCapability{Write: sallyport.FromPersonality()}
		writes.Name, writes.Capabilities = "writes", sallyport.Capabilities{FSReach: starts.Capabilities.FSReach}
		g.add(starts)
		g.add(writes)
		want := map[string]sallyport.FSMode{starts.Name: "", writes.Name: ""}
		if mode == sallyport.FSOverlay {
			want[starts.Name] = mode
		}
		for name, want := range want {
			x, err := g.Explain(g.caller(), name)
			if err != nil || x.Grant.FS.Mode != want {
				t.Errorf("mode of %s under %q = %q, %v, want %q", name, mode, x.Grant.FS.Mode, err, want)
			}
		}
	}
}
