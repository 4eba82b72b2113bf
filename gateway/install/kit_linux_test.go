package install_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
)

// registryHost is the registry of these tests.
const registryHost = "registry.example.org"

// published is a version of a package as a registry has it.
type published struct {
	version string
	// manifest is added to package.json.
	manifest map[string]any
	// files are added to the archive; a name with " -> " is a link.
	files map[string]string
	// integrity replaces the right one.
	integrity string
}

// npm is a registry.
type npm struct {
	mu    sync.Mutex
	asked []string
	docs  map[string]map[string]any
	balls map[string][]byte
}

// newNPM publishes packages by name.
func newNPM(t testing.TB, packages map[string]published) *npm {
	t.Helper()
	n := &npm{docs: map[string]map[string]any{}, balls: map[string][]byte{}}
	for name, p := range packages {
		m := map[string]any{"name": name, "version": p.version}
		maps.Copy(m, p.manifest)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		ball := tarball(t, string(text), p.files)
		sum := sha512.Sum512(ball)
		if p.integrity == "" {
			p.integrity = "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
		}
		at := name + "/-/" + filepath.Base(name) + "-" + p.version + ".tgz"
		m["dist"] = map[string]string{"tarball": "http://" + registryHost + "/" + at, "integrity": p.integrity}
		n.balls["/"+at] = ball
		n.docs[name] = map[string]any{
			"name": name, "dist-tags": map[string]string{"latest": p.version}, "versions": map[string]any{p.version: m},
		}
	}
	return n
}

// tarball is an archive as npm makes it.
func tarball(t testing.TB, manifest string, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	all := map[string]string{"package.json": manifest}
	maps.Copy(all, files)
	for name, body := range all {
		h := &tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(body))}
		if strings.HasPrefix(name, "/") {
			h.Name = name
		}
		if from, to, ok := strings.Cut(name, " -> "); ok {
			h = &tar.Header{Name: "package/" + from, Typeflag: tar.TypeSymlink, Linkname: to, Mode: 0o777}
			body = ""
		}
		if err := archive.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(archive, body)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (n *npm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.asked = append(n.asked, r.Host+r.URL.Path)
	n.mu.Unlock()
	if ball, ok := n.balls[r.URL.Path]; ok {
		_, _ = w.Write(ball)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if doc, ok := n.docs[name]; ok {
		_ = json.NewEncoder(w).Encode(doc)
		return
	}
	// /NAME/TAG
	if i := strings.LastIndex(name, "/"); i > 0 {
		if doc, ok := n.docs[name[:i]]; ok {
			if v, ok := doc["dist-tags"].(map[string]string)[name[i+1:]]; ok {
				_ = json.NewEncoder(w).Encode(doc["versions"].(map[string]any)[v])
				return
			}
		}
	}
	http.NotFound(w, r)
}

// network leads every name to one server, and counts nothing as private.
func network(address string) *sallyport.NetworkBackend {
	return &sallyport.NetworkBackend{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			// 93.184.216.0/24 was that of example.com for decades: public, and
			// never dialled here.
			return []netip.Addr{netip.AddrFrom4([4]byte{93, 184, 216, 1})}, nil
		},
		Dial: func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
	}
}

// gatedStore is a store with a gate around it.
type gatedStore struct {
	t        testing.TB
	dir      string // the workspace, in which the store lies
	store    *install.Store
	backends *sallyport.Backends
}

func newPlace(t testing.TB, server http.Handler, o *install.Options) *gatedStore {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if o == nil {
		o = &install.Options{}
	}
	o.NPM = "http://" + registryHost
	return placeOver(t, network(u.Host), o)
}

func placeOver(t testing.TB, n *sallyport.NetworkBackend, o *install.Options) *gatedStore {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// Only its owner can remove what is in folders without write.
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	store, err := install.New(filepath.Join(dir, ".sallyport", "packages"), o)
	if err != nil {
		t.Fatal(err)
	}
	files := &sallyport.FileBackend{Deny: []string{filepath.Join(dir, ".sallyport")}, Packages: store.Dir()}
	children, err := sandbox.New(&sandbox.Options{Files: files, Network: n, Warm: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = children.Close() })
	return &gatedStore{t, dir, store, &sallyport.Backends{Files: files, Network: n, Process: children}}
}

// gate runs one tool once, in a gate without roles.
func (p *gatedStore) gate(tool sallyport.Tool) sallyport.Result {
	p.t.Helper()
	return p.gateIn(p.t.Context(), tool)
}

func (p *gatedStore) gateIn(ctx context.Context, tool sallyport.Tool) sallyport.Result {
	p.t.Helper()
	copied := *p.backends
	r, err := registry.New(&copied, &registry.Options{Workspace: p.dir})
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Close(context.Background())
	if err := r.Register(tool); err != nil {
		p.t.Fatal(err)
	}
	return r.Call(ctx, &sallyport.Caller{
		Principal: sallyport.Principal{Name: "local"}, Platform: sallyport.PlatformGo, Workspace: p.dir,
	}, sallyport.Request{Tool: tool.Name})
}

// parse is the package of a command.
func parse(t testing.TB, command ...string) install.Package {
	t.Helper()
	p, _, err := install.Parse(command)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// install installs a package, which must work.
func (p *gatedStore) install(pkg install.Package) install.Installed {
	p.t.Helper()
	i, err := pkg.Installed(p.gate(p.store.Tool(pkg)))
	if err != nil {
		p.t.Fatal(err)
	}
	return i
}

// open opens an installed copy, which must work.
func (p *gatedStore) open(i install.Installed) install.Program {
	p.t.Helper()
	o, err := p.store.Open(i.Package, i.Digest)
	if err != nil {
		p.t.Fatal(err)
	}
	return o
}

// run runs a program in a sandbox that may read and write the workspace.
func (p *gatedStore) run(programs []string, command ...string) (out, said string) {
	p.t.Helper()
	c, err := p.backends.Process.Start(p.t.Context(), &sallyport.Spawn{
		Grant: &sallyport.Grant{
			FS:      sallyport.FSGrant{Read: []string{p.dir}, Write: []string{p.dir}},
			Process: sallyport.ProcessGrant{Binaries: []string{command[0]}, Programs: programs},
		},
		Binary: command[0], Args: command[1:], Workspace: p.dir,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := c.Wait()
	if err != nil {
		p.t.Fatal(err)
	}
	return string(res.Stdout), string(res.Stderr)
}

// names are what is in the store.
func (p *gatedStore) names() []string {
	p.t.Helper()
	entries, err := os.ReadDir(p.store.Dir())
	if err != nil {
		p.t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
