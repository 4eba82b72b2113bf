package registry_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// failingChild is a tool whose program prints words and fails.
func failingChild(words string, exit int) sallyport.Tool {
	deferred := sallyport.PathList{FromPersonality: true}
	return sallyport.Tool{
		Name: "child", Schema: open,
		Capabilities: sallyport.Capabilities{
			Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"make"}},
			FSReach: &sallyport.FSCapability{Read: deferred, Write: deferred},
			Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}},
		},
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			if exit < 0 {
				return sallyport.Result{}, errors.New(words)
			}
			res := sallyport.OK(words)
			res.Structured = map[string]any{"exitCode": exit}
			return res, nil
		},
	}
}

// refusalsOf calls the tool and returns the refusals that the record has.
func refusalsOf(t *testing.T, dir string, tool sallyport.Tool, allow ...string) []sallyport.Decision {
	t.Helper()
	g := newGateWith(t, &sallyport.Personality{
		Name: "role", FSReach: &sallyport.Reach{Read: []string{dir}, Write: []string{filepath.Join(dir, "w"), filepath.Join(dir, "gone", "new.md"), filepath.Join(dir, "f", "a.md"), filepath.Join(dir, "build")}},
		Network: &sallyport.NetworkPolicy{Allow: append([]string{}, allow...)},
	}, &sallyport.Backends{
		Process: &scopedtest.Runner{Level: sallyport.LevelFull}, Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: dir},
	})
	g.add(tool)
	call(g, "child", `{"url":"https://args.example:8443/x"}`)
	var out []sallyport.Decision
	for _, d := range g.recorder.last().Decisions {
		if d.Step == sallyport.StepAccess && !d.Allowed {
			out = append(out, d)
		}
	}
	return out
}

func TestTheRecordNamesWhatAChildCouldNotReach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, words, resource, fix string
	}{
		{"read-only", "touch: cannot touch 'DIR/a.txt': Read-only file system", "DIR/a.txt", "add DIR/a.txt to personalities.role.fs_reach.write"},
		{"read-only in a folder that is not there", "touch: cannot touch 'DIR/none/a.txt': Read-only file system", "DIR/none/a.txt", "add DIR/none/a.txt to personalities.role.fs_reach.write, or rather its folder: its folder DIR/none does not exist"},
		{"read-only beside a granted file", "EROFS: read-only file system, open 'DIR/f/a.md.tmp'", "DIR/f/a.md.tmp", "add DIR/f/a.md.tmp to personalities.role.fs_reach.write, or rather its folder: nothing can be renamed over DIR/f/a.md, which is granted by its own name"},
		{"a folder that is there", "DIR/d: Read-only file system", "DIR/d", "add DIR/d to personalities.role.fs_reach.write"},
		{"a granted file that is not there", "open DIR/gone/new.md: read-only file system", "DIR/gone/new.md", "mkdir -p DIR/gone"},
		{"a folder to be", "mkdir: cannot create directory ‘DIR/out’: Read-only file system", "DIR/out", "add DIR/out to personalities.role.fs_reach.write, and make the folder first, since a child can create only a file there: mkdir -p DIR/out"},
		{"a granted folder to be", "mkdir: cannot create directory ‘DIR/build’: Permission denied", "DIR/build", "mkdir -p DIR/build"},
		{"not shown", "cat: /srv/else/x: No such file or directory", "/srv/else/x", "add /srv/else/x to personalities.role.fs_reach.read"},
		{"denied", "EACCES: permission denied, open '/srv/else/x'", "/srv/else/x", "add /srv/else/x to personalities.role.fs_reach.read"},
		{"a key", "cat: DIR/.ssh/id_rsa: No such file or directory", "DIR/.ssh/id_rsa", ""},
		{"a host", "curl: (6) Could not resolve host: api.github.com", "api.github.com", "add api.github.com to personalities.role.safety.network.allow"},
		{"a host that only the arguments name", "<urlopen error [Errno -2] Name or service not known>", "args.example:8443", "add args.example:8443 to personalities.role.safety.network.allow"},
		{"a host that the proxy of children refused", "HTTP Error 403: Forbidden", "args.example:8443", "add args.example:8443 to personalities.role.safety.network.allow"},
		{"a program that is worded like a file", "[Errno 2] No such file or directory: 'sh'", "sh", "install sh"},
		{"a port", "connect ECONNREFUSED 10.0.0.7:5432", "10.0.0.7:5432", "add 10.0.0.7:5432 to personalities.role.safety.network.allow_private"},
		{"metadata", "connect ECONNREFUSED 169.254.169.254:80", "169.254.169.254", ""},
		{"a program", "bash: line 1: cargo: command not found", "cargo", "install cargo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Mkdir(filepath.Join(dir, "f"), 0o700), os.WriteFile(filepath.Join(dir, "f", "a.md"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			in := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
			for _, exit := range []int{1, -1} {
				got := refusalsOf(t, dir, failingChild(in(tt.words), exit), "example.com")
				if len(got) != 1 || got[0].Resource != in(tt.resource) || !strings.HasPrefix(got[0].Fix, in(tt.fix)) || tt.fix == "" && got[0].Fix != "" {
					t.Errorf("exit %d: refusals = %+v, want one of %q with the fix %q", exit, got, in(tt.resource), in(tt.fix))
				}
			}
		})
	}
}

// TestAChildWithoutAHostIsToldHow to get one: by the role where the tool takes the
// hosts of the role, and otherwise by what was dropped.
func TestAChildWithoutAHostIsToldHow(t *testing.T) {
	t.Parallel()
	words := "Error: listen EAFNOSUPPORT: address family not supported"
	declared := failingChild(words, 1)
	declared.Capabilities.Network = &sallyport.NetworkCapability{AllowedHosts: []string{"db.example"}}
	none := failingChild(words, 1)
	none.Capabilities.Network = nil
	for _, tt := range []struct {
		name string
		tool sallyport.Tool
		fix  string
	}{
		{"hosts of the role", failingChild(words, 1), "add HOST to personalities.role.safety.network.allow"},
		{"a dropped host", declared, "add db.example to personalities.role.safety.network.allow"},
		{"no host declared", none, "declare HOST in the tool's capabilities.network"},
	} {
		got := refusalsOf(t, t.TempDir(), tt.tool)
		if len(got) != 1 || got[0].Fix != tt.fix || got[0].Resource != "" {
			t.Errorf("%s: refusals = %+v, want one with the fix %q", tt.name, got, tt.fix)
		}
	}
	if got := refusalsOf(t, t.TempDir(), failingChild(words, 1), "example.com"); len(got) != 0 {
		t.Errorf("with a host: refusals = %+v, want none", got)
	}
}

func TestNothingIsNotedThatTheGrantCovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tt := range []struct {
		name, words string
		exit        int
	}{
		{"a missing file within reach", "cat: " + dir + "/x: No such file or directory", 1},
		{"a host within reach", "curl: (6) Could not resolve host: example.com", 1},
		{"a program that succeeded", "touch: cannot touch '/srv/a.txt': Read-only file system", 0},
	} {
		if got := refusalsOf(t, dir, failingChild(tt.words, tt.exit), "example.com"); len(got) != 0 {
			t.Errorf("%s: refusals = %+v, want none", tt.name, got)
		}
	}
}

// TestAReasonWithoutANameIsSaidToBeOne has children fail with words that name nothing:
// the record says so, and the command that shows more, unless it knows of a refusal.
func TestAReasonWithoutANameIsSaidToBeOne(t *testing.T) {
	t.Parallel()
	const paths = " and named no path; the kernel does not tell which paths it kept from a child"
	const hosts = " and named no host; it asked for no host that it may not reach, and no other way leads out"
	for _, tt := range []struct {
		name, words, why string
	}{
		{"denied", "PermissionError: [Errno 1] Operation not permitted", `a child said "Operation not permitted"` + paths},
		{"read-only", "OSError: [Errno 30] Read-only file system", `a child said "Read-only file system"` + paths},
		{"missing", "npm error code ENOENT", `a child said "ENOENT"` + paths},
		{"a path that is known besides", "EROFS: read-only file system, open '/srv/a.txt'\nnpm error code ENOENT", ""},
		{"no reason", "1 test failed", ""},
	} {
		tool := failingChild(tt.words, 1)
		got := refusalsOf(t, t.TempDir(), tool, "args.example:8443")
		switch {
		case tt.why == "":
			for _, d := range got {
				if strings.Contains(d.Fix, "observe") {
					t.Errorf("%s: the record has %+v, want no word of a reason without a name", tt.name, d)
				}
			}
		case len(got) != 1 || got[0].Why != tt.why || !strings.HasPrefix(got[0].Fix, "sallyport observe --workspace /") || !strings.HasSuffix(got[0].Fix, " -- COMMAND, which shows what it needs"):
			t.Errorf("%s: the record has %+v, want %q and the command", tt.name, got, tt.why)
		}
	}
	// The only host that the arguments name may be reached.
	got := refusalsOf(t, t.TempDir(), failingChild("TypeError: fetch failed", 1), "args.example:8443")
	if len(got) != 1 || got[0].Capability != "network" || got[0].Why != `a child said "fetch failed"`+hosts {
		t.Errorf("a host without a name: the record has %+v, want %q", got, hosts)
	}
}

// TestTheProgramOfAServerIsObserved names the command of an MCP server, which the
// operator wrote.
func TestTheProgramOfAServerIsObserved(t *testing.T) {
	t.Parallel()
	tool := failingChild("", 0)
	tool.Name = "mcp__notes__child"
	tool.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		child, err := c.Process.Start(ctx, "make", []string{"-C", "a b"}, nil)
		if err != nil {
			return sallyport.Result{}, err
		}
		child.Stop(0)
		return sallyport.Result{}, errors.New("EPERM")
	}
	g := newGateWith(t, &sallyport.Personality{Name: "role", MCPServers: []string{"notes"}}, &sallyport.Backends{
		Process: &scopedtest.Runner{Level: sallyport.LevelFull}, Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()},
	})
	g.add(tool)
	call(g, tool.Name, "{}")
	const want = " -- make -C 'a b', which shows what it needs"
	if recorded := g.recorder.last().Decisions; !slices.ContainsFunc(recorded, func(d sallyport.Decision) bool { return strings.HasSuffix(d.Fix, want) }) {
		t.Errorf("the record = %+v, want the fix %q", recorded, want)
	}
}
