package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// patience bounds what a test waits for before it says that it hangs. It is
// never what is measured.
const patience = 3 * time.Minute

// open returns a runner that the test closes.
func open(t testing.TB, o *Options) *Runner {
	t.Helper()
	r, err := New(asAsked(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// sharedVar has the tests run with children that share the user of root, as they
// do on a machine that cannot give them users of their own.
const sharedVar = "SALLYPORT_TEST_SHARED_USER"

// asAsked returns options with what the environment asks for.
func asAsked(o *Options) *Options {
	if os.Getenv(sharedVar) != "" {
		o.without |= layerUsers
	}
	return o
}

// installed skips a test for want of a program; where CI says what is installed,
// that is a failure.
func installed(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := (&Runner{o: Options{Toolchains: Toolchains(os.Getenv("HOME"))}}).resolveProgram(name, nil); err == nil {
			continue
		} else if os.Getenv("CI") == "true" && required[name] {
			t.Fatalf("%s: %v", name, err)
		} else {
			t.Skipf("%s is not installed", name)
		}
	}
}

// required is what a machine that says CI=true has.
var required = map[string]bool{
	"git": true, "go": true, "node": true, "npm": true, "python3": true, "curl": true, "bash": true, "cargo": true,
}

// workplace is a workspace with a runner: what most tests need.
type workplace struct {
	t     testing.TB
	r     *Runner
	dir   string
	grant *sallyport.Grant
}

// workspace returns a place whose child may read and write one directory, and
// reach the hosts.
func workspace(t testing.TB, r *Runner, hosts ...string) *workplace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &workplace{t, r, dir, &sallyport.Grant{
		FS:      sallyport.FSGrant{Read: []string{dir}, Write: []string{dir}},
		Network: sallyport.NetworkGrant{Allow: hosts},
		Process: sallyport.ProcessGrant{Binaries: []string{"*"}},
	}}
}

// in returns the same place for a subtest, whose own failure ends it.
func (w *workplace) in(t testing.TB) *workplace { return &workplace{t, w.r, w.dir, w.grant} }

func (w *workplace) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *workplace) spawn(o sallyport.SpawnOptions, binary string, args ...string) *sallyport.Spawn {
	return &sallyport.Spawn{Grant: w.grant, Binary: binary, Args: args, Options: o, Workspace: w.dir}
}

// start starts a child that the test does not leave behind.
func (w *workplace) start(ctx context.Context, o sallyport.SpawnOptions, binary string, args ...string) sallyport.Child {
	w.t.Helper()
	c, err := w.r.Start(ctx, w.spawn(o, binary, args...))
	if err != nil {
		w.t.Fatalf("Start(%s %q): %v: %v", binary, args, err, errors.Unwrap(err))
	}
	return c
}

// wait waits for a child to end by itself.
func (w *workplace) wait(c sallyport.Child) sallyport.ProcessResult {
	w.t.Helper()
	select {
	case <-c.Done():
	case <-time.After(patience):
		w.t.Fatal("the child did not end")
	}
	res, err := c.Wait()
	if err != nil {
		w.t.Fatalf("Wait: %v", err)
	}
	return res
}

// run runs a program to its end.
func (w *workplace) run(o sallyport.SpawnOptions, binary string, args ...string) sallyport.ProcessResult {
	w.t.Helper()
	return w.wait(w.start(context.Background(), o, binary, args...))
}

// ok runs a program that has to succeed and returns its standard output.
func (w *workplace) ok(env map[string]string, binary string, args ...string) string {
	w.t.Helper()
	res := w.run(sallyport.SpawnOptions{Env: env}, binary, args...)
	if res.ExitCode != 0 {
		w.t.Fatalf("%s %q = exit %d\nstdout: %s\nstderr: %s", binary, args, res.ExitCode, res.Stdout, res.Stderr)
	}
	return string(res.Stdout)
}

// sh runs a script that has to succeed and returns its standard output.
func (w *workplace) sh(script string) string {
	w.t.Helper()
	return w.ok(nil, "sh", "-c", script)
}

// world is a network that exists in this test only: names with addresses of
// the public range, each of which leads to a server on this machine.
type world struct {
	addrs map[string]netip.Addr
	hosts map[netip.AddrPort]string
}

func newWorld() *world {
	return &world{map[string]netip.Addr{}, map[netip.AddrPort]string{}}
}

// serveName makes a name lead to a server.
func (w *world) serveName(name string, port uint16, server string) {
	addr, ok := w.addrs[name]
	if !ok {
		// 93.184.216.0/24 was that of example.com for decades: public, and
		// never dialled here.
		addr = netip.AddrFrom4([4]byte{93, 184, 216, byte(len(w.addrs) + 1)})
		w.addrs[name] = addr
	}
	w.hosts[netip.AddrPortFrom(addr, port)] = strings.TrimPrefix(strings.TrimPrefix(server, "https://"), "http://")
}

// serve makes a name lead to a handler over plain HTTP.
func (w *world) serve(t testing.TB, name string, h http.Handler) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	w.serveName(name, 80, s.URL)
}

func (w *world) backend() *sallyport.NetworkBackend {
	return &sallyport.NetworkBackend{
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			addr, ok := w.addrs[host]
			if !ok {
				return nil, fmt.Errorf("%s does not exist", host)
			}
			return []netip.Addr{addr}, nil
		},
		Dial: func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error) {
			server, ok := w.hosts[addr]
			if !ok {
				return nil, fmt.Errorf("nothing listens on %s", addr)
			}
			var d net.Dialer
			return d.DialContext(ctx, network, server)
		},
	}
}

// used finds what a child asked of a host.
func used(res sallyport.ProcessResult, host string) *sallyport.HostUse {
	for i := range res.Touched.Hosts {
		if res.Touched.Hosts[i].Host == host {
			return &res.Touched.Hosts[i]
		}
	}
	return nil
}

// textHandler is a handler that answers with a text.
func textHandler(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, text) })
}
