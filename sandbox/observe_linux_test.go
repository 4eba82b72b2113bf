package sandbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// watched is a program for the observer: where it begins, what it must print.
type watched struct {
	name  string
	needs []string
	files map[string]string
	argv  []string
	want  string
	caps  sallyport.Capabilities
}

func declared(read, write, hosts []string, p *sallyport.ProcessCapability) sallyport.Capabilities {
	c := sallyport.Capabilities{Process: p}
	if len(read)+len(write) > 0 {
		c.FSReach = &sallyport.FSCapability{Read: sallyport.PathList{Paths: read}, Write: sallyport.PathList{Paths: write}}
	}
	if len(hosts) > 0 {
		c.Network = &sallyport.NetworkCapability{AllowedHosts: hosts}
	}
	return c
}

func starts(names ...string) *sallyport.ProcessCapability {
	return &sallyport.ProcessCapability{AllowedBinaries: names}
}

const pyProgram = `import json, os, urllib.request
total = sum(int(open("data/" + n).read()) for n in os.listdir("data"))
os.makedirs("out", exist_ok=True)
rate = urllib.request.urlopen("http://rates.example.org/").read().decode().strip()
json.dump(total, open("out/total.json", "w"))
print(total, rate)
`

const nodeProgram = `const fs = require("fs");
const c = JSON.parse(fs.readFileSync("conf/app.json"));
fs.writeFileSync("out/result", c.word);
console.log(c.word, fs.existsSync("nothing"));
`

// programs are real ones, each with the whole declaration that it needs.
var programs = []watched{
	{
		name: "cat", argv: []string{"cat", "docs/a.txt"}, want: "alpha",
		files: map[string]string{"docs/a.txt": "alpha\n", "docs/b.txt": "beta\n"},
		caps:  declared([]string{"${workspace}/docs/a.txt"}, nil, nil, starts("cat")),
	},
	{
		name: "many of a folder", argv: []string{"cat", "in/1", "in/2", "in/3", "in/4"}, want: "abcd",
		files: map[string]string{"in/1": "a", "in/2": "b", "in/3": "c", "in/4": "d", "other": "x"},
		caps:  declared([]string{"${workspace}/in"}, nil, nil, starts("cat")),
	},
	{
		name: "sh", argv: []string{"sh", "-c", "tr a-z A-Z <in/a >out/b && cp out/b out/c && mv out/c out/d && cat out/d"}, want: "ALPHA",
		files: map[string]string{"in/a": "alpha\n", "out/keep": ""},
		caps:  declared([]string{"${workspace}/in/a", "${workspace}/out"}, []string{"${workspace}/out"}, nil, starts("sh")),
	},
	{
		name: "in place", argv: []string{"sh", "-c", "test -w log && echo more >>log"}, want: "",
		files: map[string]string{"log": "one\n"},
		caps:  declared(nil, []string{"${workspace}/log"}, nil, starts("sh")),
	},
	{
		name: "python", needs: []string{"python3"}, argv: []string{"python3", "sum.py"}, want: "6 7",
		files: map[string]string{"sum.py": pyProgram, "data/1": "1", "data/2": "2", "data/3": "3", "out/keep": ""},
		// Python lists the folder of its script for modules.
		caps: declared([]string{"${workspace}"}, []string{"${workspace}/out"}, []string{"rates.example.org"}, starts("python3")),
	},
	{
		name: "node", needs: []string{"node"}, argv: []string{"node", "app.js"}, want: "gate false",
		files: map[string]string{"app.js": nodeProgram, "conf/app.json": `{"word":"gate"}`, "out/keep": ""},
		caps:  declared([]string{"${workspace}/app.js", "${workspace}/conf/app.json"}, []string{"${workspace}/out"}, nil, starts("node")),
	},
	{
		name: "git clone", needs: []string{"git"}, argv: []string{"sh", "-c", "git clone -q http://code.example.org/hello.git && cat hello/README"}, want: "hello",
		caps: declared([]string{"${workspace}"}, []string{"${workspace}"}, []string{"code.example.org"}, starts("sh")),
	},
	{
		name: "curl to a port", needs: []string{"curl"}, argv: []string{"curl", "-sSf", "http://api.example.org:8080/x"}, want: "port 8080",
		caps: declared(nil, nil, []string{"api.example.org:8080"}, starts("curl")),
	},
	{
		name: "program that it wrote", argv: []string{"sh", "-c", "printf '#!/bin/sh\\necho ran\\n' >bin/run && chmod +x bin/run && bin/run"}, want: "ran",
		files: map[string]string{"bin/keep": ""},
		caps: declared([]string{"${workspace}/bin"}, []string{"${workspace}/bin"}, nil, &sallyport.ProcessCapability{
			AllowedBinaries: []string{"sh"}, ExecFrom: []string{"${workspace}/bin"},
		}),
	},
}

// What is declared lets the program pass when the kernel holds it to that, and
// without any of the items it does not pass.
func TestObservedDeclarationHolds(t *testing.T) {
	t.Parallel()
	for _, w := range programs {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			installed(t, w.needs...)
			o := newObservatory(t)
			if reach.Within("/var/tmp", o.dir) {
				t.Skip("an ordinary user has no folder here where writing is told from reading")
			}
			o.writeFiles(w.files)
			seen, out := o.observe(ObserveOptions{}, w.argv...)
			if seen.ExitCode != 0 || out != w.want {
				t.Fatalf("observed: exit %d, output %q, want %q", seen.ExitCode, out, w.want)
			}
			if diff := cmp.Diff(w.caps, seen.Capabilities); diff != "" {
				t.Errorf("declaration (-want +got):\n%s", diff)
			}
			if ok, how := o.passes(&w, seen.Capabilities); !ok {
				t.Fatalf("confined to the declaration: %s", how)
			}
			for item, less := range without(seen.Capabilities) {
				if ok, how := o.passes(&w, less); ok {
					t.Errorf("without %s it passed, too: %s", item, how)
				}
			}
		})
	}
}

// A name that was looked for in vain, and what every child has, are no needs.
func TestObserveDeclaresUsesOnly(t *testing.T) {
	t.Parallel()
	o := newObservatory(t)
	o.writeFiles(map[string]string{"here": "x"})
	seen, _ := o.observe(ObserveOptions{}, "sh", "-c",
		`cat nothing /nothing/at/all; rm -f nothing; mkdir -p . here; f=$(mktemp); echo x >$f; cat $f; rm $f; echo y >~/z; cat ~/z /etc/os-release /proc/self/stat; exit 0`)
	if seen.Capabilities.FSReach != nil || seen.Capabilities.Network != nil {
		t.Errorf("Capabilities = %+v, want neither files nor network", seen.Capabilities.FSReach)
	}
	for _, path := range []string{filepath.Join(o.dir, "nothing"), "/nothing/at/all"} {
		if slices.Contains(seen.Read, path) || slices.Contains(seen.Written, path) {
			t.Errorf("%s is among the uses", path)
		}
	}
	if !slices.Contains(seen.Missed, filepath.Join(o.dir, "nothing")) {
		t.Errorf("Missed = %q, want the file that is not there", seen.Missed)
	}
}

// A file of the shared /tmp that was there before is none that a child has.
func TestObserveDeclaresWhatLayInTmp(t *testing.T) {
	t.Parallel()
	f, err := os.CreateTemp("/tmp", "sallyport-test-")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Cleanup(func() { os.Remove(f.Name()) })
	o := newObservatory(t)
	seen, _ := o.observe(ObserveOptions{}, "sh", "-c", "cat "+f.Name()+" >/dev/null; echo x >/tmp/sallyport-own.$$; cat /tmp/sallyport-own.$$; rm /tmp/sallyport-own.$$")
	want := declared([]string{f.Name()}, nil, nil, starts("sh"))
	if diff := cmp.Diff(want, seen.Capabilities); diff != "" {
		t.Errorf("declaration (-want +got):\n%s", diff)
	}
	if len(seen.Withheld) > 0 {
		t.Errorf("Withheld = %+v, want nothing: its own files there are every child's", seen.Withheld)
	}
}

// withheld finds what was not declared.
func withheld(o *Observation, kind, item string) *Withheld {
	for i, w := range o.Withheld {
		if w.Kind == kind && strings.HasPrefix(w.Item, item) {
			return &o.Withheld[i]
		}
	}
	return nil
}

// What no child gets is named with its reason and never declared.
func TestObserveWithholds(t *testing.T) {
	t.Parallel()
	installed(t, "curl")
	o := newObservatory(t)
	home := filepath.Join(o.dir, "home")
	o.writeFiles(map[string]string{"home/.ssh/id_ed25519": "key", ".git/hooks/keep": "", ".git/config": ""})
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	socket := l.Addr().String()
	script := `cat home/.ssh/id_ed25519 >/dev/null; echo x >.git/hooks/pre-commit; ls / >/dev/null
		curl -s --unix-socket ` + socket + ` http://x/; curl -s --noproxy '*' http://192.0.2.1/; curl -s http://10.0.0.1/; exit 0`
	seen, _ := o.observe(ObserveOptions{Home: home, Files: &sallyport.FileBackend{Home: home}}, "sh", "-c", script)
	for _, want := range []Withheld{
		{Kind: "read", Item: home + "/.ssh/id_ed25519", Floor: true},
		{Kind: "write", Item: o.dir + "/.git/hooks/pre-commit", Floor: true},
		{Kind: "read", Item: "/"},
		{Kind: "socket", Item: socket},
		{Kind: "network", Item: "192.0.2.1:80"},
		{Kind: "network", Item: "10.0.0.1:80", Floor: true},
	} {
		got := withheld(seen, want.Kind, want.Item)
		if got == nil || got.Floor != want.Floor || got.Why == "" {
			t.Errorf("withheld %s %s = %+v, want it with a reason and floor %v", want.Kind, want.Item, got, want.Floor)
		}
	}
	if diff := cmp.Diff(declared(nil, nil, nil, starts("sh")), seen.Capabilities); diff != "" {
		t.Errorf("declaration (-want +got):\n%s", diff)
	}
}

// The file is named as it was used, too, when a link leads to it.
func TestObserveFollowsLinks(t *testing.T) {
	t.Parallel()
	o := newObservatory(t)
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "f"), []byte("far"), 0o644); err != nil {
		t.Fatal(err)
	}
	o.writeFiles(nil)
	if err := os.Symlink(elsewhere, filepath.Join(o.dir, "link")); err != nil {
		t.Fatal(err)
	}
	seen, _ := o.observe(ObserveOptions{}, "cat", "link/f")
	grant := placed(o.grant(seen.Capabilities))
	child, err := o.r.Start(t.Context(), &sallyport.Spawn{
		Grant: grant, Binary: "cat", Args: []string{"link/f"}, Workspace: o.dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := child.Wait(); err != nil || string(res.Stdout) != "far" {
		t.Errorf("confined to %+v: %q, %q, %v", seen.Capabilities.FSReach, res.Stdout, res.Stderr, err)
	}
}

// The end of the context ends every descendant, and what was seen is reported.
func TestObserveEndsTheTree(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{false, true} {
		t.Run(fmt.Sprint("bare ", bare), func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				// The program says that it runs.
				_, _ = r.Read(make([]byte, 6))
				cancel()
			}()
			script := "sleep 1000 & echo begun; cat /etc/os-release >/dev/null; wait"
			if !bare {
				script = "setsid " + script
			}
			seen, err := Observe(ctx, []string{"sh", "-c", script}, &ObserveOptions{Workspace: t.TempDir(), Stdout: w, bare: bare})
			w.Close()
			if err != nil || !seen.Interrupted || seen.ExitCode == 0 {
				t.Fatalf("Observe = %+v, %v, want it interrupted", seen, err)
			}
			gone := make(chan error, 1)
			go func() { _, err := io.Copy(io.Discard, r); gone <- err }()
			select {
			case <-gone:
			case <-time.After(patience):
				t.Error("a descendant still holds the output")
			}
		})
	}
}

// A machine without namespaces observes everything but hosts, and says so.
func TestObserveWithoutNamespaces(t *testing.T) {
	t.Parallel()
	o := newObservatory(t)
	o.writeFiles(map[string]string{"a": "x"})
	seen, out := o.observe(ObserveOptions{bare: true}, "sh", "-c", "cat a; exit 3")
	if out != "x" || seen.ExitCode != 3 {
		t.Errorf("output %q, exit %d, want x and 3", out, seen.ExitCode)
	}
	if diff := cmp.Diff(declared([]string{"${workspace}/a"}, nil, nil, starts("sh")), seen.Capabilities); diff != "" {
		t.Errorf("declaration (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(seen.Notes, func(n string) bool { return strings.Contains(n, "hosts were not observed") }) {
		t.Errorf("Notes = %q, want that hosts were not observed", seen.Notes)
	}
}

// A private host is declared only when it was asked for, with what else it needs.
func TestObservePrivateHosts(t *testing.T) {
	t.Parallel()
	installed(t, "curl")
	o := newObservatory(t)
	addr := netip.MustParseAddr("10.1.2.3")
	o.net.addrs["db.example.org"] = addr
	o.net.hosts[netip.AddrPortFrom(addr, 80)] = o.net.hosts[netip.AddrPortFrom(o.net.addrs["rates.example.org"], 80)]
	seen, _ := o.observe(ObserveOptions{AllowPrivate: true}, "curl", "-sS", "http://db.example.org/")
	if seen.Capabilities.Network == nil || !seen.AllowPrivate {
		t.Errorf("Observe = %+v, want the host and allow_private_urls", seen)
	}
	seen, _ = o.observe(ObserveOptions{}, "curl", "-sS", "http://db.example.org/")
	if seen.Capabilities.Network != nil || withheld(seen, "network", "db.example.org") == nil {
		t.Errorf("Observe = %+v, want the host withheld", seen)
	}
}

func TestObserveErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		argv []string
		code sallyport.Code
	}{
		{"nothing", nil, sallyport.CodeInputInvalid},
		{"not installed", []string{"sallyport-no-such-program"}, sallyport.CodeExecutionFailed},
		{"a folder", []string{"/usr"}, sallyport.CodeBinaryNotAllowed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Observe(t.Context(), tt.argv, nil)
			e, ok := err.(*sallyport.Error)
			if !ok || e.Code != tt.code {
				t.Errorf("Observe(%q) = %v, want %s", tt.argv, err, tt.code)
			}
		})
	}
}

// An ordinary user observes as root does.
func TestObservingAsNobody(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the tests run as an ordinary user already")
	}
	dir, err := os.MkdirTemp("/srv", "sallyport-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	asNobody(t, "^TestObserve", observedVar+"="+dir)
}
