package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// observatory is a network and a folder in which programs run twice.
type observatory struct {
	t   *testing.T
	dir string
	net *world
	r   *Runner
}

// observedVar names the folder in which the tests of an ordinary user observe.
const observedVar = "SALLYPORT_TEST_OBSERVED"

func newObservatory(t *testing.T) *observatory {
	o := &observatory{t: t, net: newWorld()}
	// Below /tmp and /var/tmp, which are a child's own, nothing is granted for
	// writing only. An ordinary user has no other place to be sure of.
	dir, err := os.MkdirTemp(cmp.Or(os.Getenv(observedVar), "/srv"), "sallyport-observed-")
	if err != nil {
		dir, err = os.MkdirTemp("/var/tmp", "sallyport-observed-")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	o.dir = dir
	o.net.serve(t, "rates.example.org", textHandler("7"))
	if _, err := (&Runner{}).resolveProgram("git", nil); err == nil {
		o.net.serve(t, "code.example.org", gitServer(t))
	}
	o.net.serve(t, "api.example.org", textHandler("port 80"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: textHandler("port 8080")}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { s.Close() })
	o.net.serveName("api.example.org", 8080, l.Addr().String())
	o.r = open(t, &Options{Network: o.net.backend(), Warm: -1})
	return o
}

// writeFiles makes the workspace what it is before the program runs.
func (o *observatory) writeFiles(files map[string]string) {
	o.t.Helper()
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		o.t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(o.dir, e.Name())); err != nil {
			o.t.Fatal(err)
		}
	}
	for name, text := range files {
		path := filepath.Join(o.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			o.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			o.t.Fatal(err)
		}
	}
}

// observe runs a program and returns what it printed, too.
func (o *observatory) observe(opts ObserveOptions, argv ...string) (*Observation, string) {
	o.t.Helper()
	out, err := os.Create(filepath.Join(o.t.TempDir(), "out"))
	if err != nil {
		o.t.Fatal(err)
	}
	defer out.Close()
	opts.Workspace, opts.Stdout, opts.Stderr, opts.Network = o.dir, out, out, o.net.backend()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	seen, err := Observe(ctx, argv, &opts)
	if err != nil {
		o.t.Fatalf("Observe(%q): %v", argv, err)
	}
	if seen.Interrupted {
		o.t.Fatalf("Observe(%q) did not end", argv)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		o.t.Fatal(err)
	}
	return seen, strings.TrimSpace(string(text))
}

// passes runs a program confined to a declaration, and says whether it did
// what it should.
func (o *observatory) passes(w *watched, c sallyport.Capabilities) (bool, string) {
	o.t.Helper()
	o.writeFiles(w.files)
	g := o.grant(c)
	child, err := o.r.Start(o.t.Context(), &sallyport.Spawn{Grant: g, Binary: w.argv[0], Args: w.argv[1:], Workspace: o.dir})
	if err != nil {
		return false, err.Error()
	}
	res, err := child.Wait()
	if err != nil {
		return false, err.Error()
	}
	how := fmt.Sprintf("exit %d, stdout %q, stderr %q", res.ExitCode, res.Stdout, res.Stderr)
	return res.ExitCode == 0 && strings.TrimSpace(string(res.Stdout)) == w.want, how
}

// grant is what a declaration becomes under a personality that allows all.
func (o *observatory) grant(c sallyport.Capabilities) *sallyport.Grant {
	o.t.Helper()
	expand := func(list []string) (out []string) {
		for _, p := range list {
			path, err := reach.Expand(p, map[string]string{"workspace": o.dir})
			if err != nil {
				o.t.Fatal(err)
			}
			out = append(out, path)
		}
		return out
	}
	g := &sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: c.Process.AllowedBinaries, ExecFrom: expand(c.Process.ExecFrom)}}
	if c.FSReach != nil {
		g.FS = sallyport.FSGrant{Read: expand(c.FSReach.Read.Paths), Write: expand(c.FSReach.Write.Paths)}
	}
	if c.Network != nil {
		g.Network.Allow = c.Network.AllowedHosts
	}
	return g
}

// without lists the declaration with each item left out, by what is missing.
func without(c sallyport.Capabilities) map[string]sallyport.Capabilities {
	out := map[string]sallyport.Capabilities{}
	cut := func(list []string, i int) []string { return slices.Delete(slices.Clone(list), i, i+1) }
	if c.FSReach != nil {
		for i, item := range c.FSReach.Read.Paths {
			less, fs := c, *c.FSReach
			fs.Read.Paths, less.FSReach = cut(fs.Read.Paths, i), &fs
			out["read "+item] = less
		}
		for i, item := range c.FSReach.Write.Paths {
			less, fs := c, *c.FSReach
			fs.Write.Paths, less.FSReach = cut(fs.Write.Paths, i), &fs
			// What may be executed may be written.
			less.Process = starts(c.Process.AllowedBinaries...)
			out["write "+item] = less
		}
	}
	if c.Network != nil {
		for i, item := range c.Network.AllowedHosts {
			less := c
			less.Network = &sallyport.NetworkCapability{AllowedHosts: cut(c.Network.AllowedHosts, i)}
			out["host "+item] = less
		}
	}
	for i, item := range c.Process.ExecFrom {
		less, p := c, *c.Process
		p.ExecFrom, less.Process = cut(p.ExecFrom, i), &p
		out["execFrom "+item] = less
	}
	return out
}
