package sandbox

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

// noProxy is the beginning of a script whose programs know no proxy.
const noProxy = `unset HTTP_PROXY http_proxy HTTPS_PROXY https_proxy ALL_PROXY all_proxy NODE_USE_ENV_PROXY
`

// directWorld is a world with a host that answers in HTTP, with TLS as
// example.com, which is the name in the certificate of httptest, and with an echo
// on port 7777.
func directWorld(t *testing.T) *workplace {
	t.Helper()
	net := newWorld()
	net.serve(t, "data.example.org", textHandler("plain"))
	net.serve(t, "other.example.org", textHandler("other"))
	server := httptest.NewUnstartedServer(textHandler("encrypted"))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are expected
	server.StartTLS()
	t.Cleanup(server.Close)
	for _, name := range []string{"example.com", "other.example.org"} {
		net.serveName(name, 443, server.URL)
	}
	net.serveName("echo.example.org", 7777, echoServer(t))
	w := workspace(t, open(t, &Options{Network: net.backend()}), "data.example.org", "example.com", "*.example.org:7777")
	w.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return w
}

// echoServer answers with what it is sent.
func echoServer(t *testing.T) string {
	t.Helper()
	return rawServer(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
}

// rawServer serves each connection by a function.
func rawServer(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); serve(c) }()
		}
	}()
	return l.Addr().String()
}

// directProgram is a program that knows no proxy, what it reaches, and what it says.
type directProgram struct {
	name, binary, script string
	out                  string // empty: refused
	host                 string
}

// runDirect runs programs in a world of [directWorld].
func runDirect(t *testing.T, w *workplace, programs []directProgram) {
	t.Helper()
	for _, c := range programs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			installed(t, c.binary)
			res := w.in(t).run(sallyport.SpawnOptions{}, "sh", "-c", noProxy+c.script)
			if got := strings.TrimSpace(string(res.Stdout)); got != c.out || (res.ExitCode == 0) != (c.out != "") {
				t.Errorf("exit %d, %q, want %q; stderr: %s", res.ExitCode, got, c.out, res.Stderr)
			}
			if u := used(res, c.host); c.host != "" && (u == nil || u.Allowed != (c.out != "")) {
				t.Errorf("Touched.Hosts = %+v", res.Touched.Hosts)
			}
		})
	}
}

// nodePrograms are those of one version of Node, whose file is found in the workspace
// or on the fixed path.
func nodePrograms(node string) []directProgram {
	const fetch, get = `fetch("URL").then(r => r.ok ? r.text() : process.exit(1)).then(console.log)`, `require("https").get("URL", r => r.pipe(process.stdout))`
	of := func(what, script, url, out string) directProgram {
		host := strings.SplitN(url, "/", 4)[2]
		return directProgram{what, "sh", "NODE_EXTRA_CA_CERTS=ca.pem " + node + " -e '" + strings.Replace(script, "URL", url, 1) + "'", out, host}
	}
	return []directProgram{
		of("fetch", fetch, "http://data.example.org/", "plain"),
		of("fetch and TLS", fetch, "https://example.com/", "encrypted"),
		of("https.get", get, "https://example.com/", "encrypted"),
		of("fetch, refused", fetch, "http://other.example.org/", ""),
		of("https.get, refused", get, "https://other.example.org/", ""),
	}
}

// Node of this machine reaches what is granted, and nothing else.
func TestDirectNode(t *testing.T) {
	t.Parallel()
	installed(t, "node")
	runDirect(t, directWorld(t), nodePrograms("node"))
}

// So do newer versions, from npm.
func TestDirectNodeVersions(t *testing.T) {
	t.Parallel()
	needs.NPM(t, "versions of Node")
	arch, ok := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if !ok {
		t.Skipf("npm has no Node for %s", runtime.GOARCH)
	}
	npm := needs.Program(t, "npm")
	for _, version := range []string{"22", "24"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := directWorld(t)
			w.grant.Process.ExecFrom = []string{w.dir}
			name := "node-linux-" + arch
			install := exec.CommandContext(t.Context(), npm, "install", "--prefix", w.dir, "--ignore-scripts", "--no-audit", "--no-fund", name+"@"+version)
			install.Env = needs.NodeRoots()
			out, err := install.CombinedOutput()
			if err != nil {
				t.Fatalf("npm install %s@%s: %v\n%s", name, version, err, out)
			}
			node := "node_modules/" + name + "/bin/node"
			if is := w.sh(node + " --version"); !strings.HasPrefix(is, "v"+version+".") {
				t.Fatalf("%s@%s is Node %s", name, version, is)
			}
			runDirect(t, w, nodePrograms(node))
		})
	}
}

// Programs that know no proxy reach what is granted, and nothing else.
func TestDirectPrograms(t *testing.T) {
	t.Parallel()
	runDirect(t, directWorld(t), []directProgram{
		{"curl", "curl", "curl -sS http://data.example.org/", "plain", "data.example.org"},
		{"curl and IPv6", "curl", "curl -6 -sS http://data.example.org/", "plain", "data.example.org"},
		{"curl and TLS", "curl", "curl -sS --cacert ca.pem https://example.com/", "encrypted", "example.com"},
		{"curl, refused", "curl", "curl -f -sS http://other.example.org/", "", "other.example.org"},
		{"curl, another port", "curl", "curl -sS http://data.example.org:8080/", "", ""},
		{"curl, another name in TLS", "curl", "curl -k -sS --connect-to other.example.org:443:example.com:443 https://other.example.org/", "", "other.example.org"},
		{"curl, a guessed address", "curl", "curl -sS http://198.18.77.7/", "", "198.18.77.7"},
		{"Python", "python3", `python3 -c 'import urllib.request as u; print(u.urlopen("http://data.example.org/").read().decode())'`, "plain", "data.example.org"},
		{"Python, a raw socket", "python3", `python3 -c '
import socket
s = socket.create_connection(("echo.example.org", 7777))
s.sendall(b"\0raw"); s.shutdown(socket.SHUT_WR); print(s.makefile().read()[1:])'`, "raw", "echo.example.org"},
	})
}

// databaseServers speak the first words of Postgres and MySQL: an error.
func databaseServers(t *testing.T, w *world) {
	t.Helper()
	postgres := rawServer(t, func(c net.Conn) {
		buf := make([]byte, 1024)
		for {
			n, err := c.Read(buf)
			switch {
			case err != nil:
				return
			case n == 8: // a request for TLS or GSS
				_, _ = io.WriteString(c, "N")
			default:
				text := "SFATAL\x00C28000\x00Mpostgres was reached\x00\x00"
				_, _ = c.Write(append([]byte{'E', 0, 0, 0, byte(4 + len(text))}, text...))
				return
			}
		}
	})
	w.serveName("pg.example.org", 5432, postgres)
	for _, address := range []string{"127.0.0.1:5432", "10.0.0.5:5432", "[fd00::5]:5432"} {
		w.hosts[netip.MustParseAddrPort(address)] = postgres
	}
	w.serveName("my.example.org", 3306, rawServer(t, func(c net.Conn) {
		text := "\xff\x6a\x04mysql was reached"
		_, _ = c.Write(append([]byte{byte(len(text)), 0, 0, 0}, text...))
	}))
}

// An ordinary user's gate gives its children the same.
func TestDirectAsNobody(t *testing.T) {
	t.Parallel()
	asNobody(t, "^TestDirect(Programs|Node|Hostile)$")
}

// Clients of databases use no proxy at all.
func TestDirectDatabases(t *testing.T) {
	t.Parallel()
	net := newWorld()
	databaseServers(t, net)
	w := workspace(t, open(t, &Options{Network: net.backend()}), "pg.example.org:5432", "my.example.org:3306",
		"127.0.0.1:5432", "10.0.0.5:5432", "[fd00::5]:5432")
	w.grant.Network.AllowPrivate = true
	for _, c := range []struct{ binary, host, want string }{
		{"psql", "pg.example.org", "postgres was reached"},
		{"psql", "localhost", "postgres was reached"},
		{"psql", "127.0.0.1", "postgres was reached"},
		{"psql", "10.0.0.5", "postgres was reached"},
		{"psql", "fd00::5", "postgres was reached"},
		{"psql", "10.0.0.6", "unreachable"},
		{"mysql", "my.example.org", "mysql was reached"},
	} {
		t.Run(c.binary+" "+c.host, func(t *testing.T) {
			t.Parallel()
			installed(t, c.binary)
			script := "psql -h " + c.host + " -U u -d d -c 'select 1'"
			if c.binary == "mysql" {
				script = "mysql -h " + c.host + " -u u -e 'select 1'"
			}
			res := w.in(t).run(sallyport.SpawnOptions{}, "sh", "-c", script)
			if !strings.Contains(string(res.Stderr), c.want) {
				t.Errorf("exit %d, %s, want %q; %+v", res.ExitCode, res.Stderr, c.want, res.Touched.Hosts)
			}
		})
	}
}

func TestDirectGit(t *testing.T) {
	t.Parallel()
	installed(t, "git")
	net := newWorld()
	net.serve(t, "code.example.org", gitServer(t))
	w := workspace(t, open(t, &Options{Network: net.backend()}), "code.example.org")
	if out := w.sh(noProxy + "git clone -q http://code.example.org/hello.git && cat hello/README"); out != "hello\n" {
		t.Errorf("git clone = %q", out)
	}
}

// fetchVar makes the test binary a program that looks names up with Go's own
// resolver, as one without C does, and fetches what the variable says.
const fetchVar = "SALLYPORT_TEST_FETCH"

func fetchAsChild(url string) error {
	dialer := &net.Dialer{Resolver: &net.Resolver{PreferGo: true}}
	for _, name := range []string{"data.example.org", "gone.example.org", "other.example.com"} {
		_, err := dialer.Resolver.LookupHost(context.Background(), name)
		fmt.Println(err == nil)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	res, err := client.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(os.Stdout, res.Body)
	return err
}

func TestDirectGo(t *testing.T) {
	t.Parallel()
	w := directWorld(t)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.dir+"/fetch", self, 0o755); err != nil {
		t.Fatal(err)
	}
	w.grant.Process.ExecFrom = []string{w.dir}
	out := w.ok(map[string]string{fetchVar: "http://data.example.org/"}, "sh", "-c", noProxy+"./fetch")
	if out != "true\ntrue\nfalse\nplain\n" {
		t.Errorf("a Go program says %q", out)
	}
}

// What a child tries in order to get out by names and addresses.
func TestDirectHostile(t *testing.T) {
	t.Parallel()
	installed(t, "python3")
	w := directWorld(t)
	w.write("try.py", `
import errno, random, socket, struct
def ask(name, kind, tcp=False):
    q = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0)
    for label in name.split("."):
        q += bytes([len(label)]) + label.encode()
    q += b"\0" + struct.pack(">2H", kind, 1)
    if tcp:
        s = socket.create_connection(("127.0.0.1", 53)); s.sendall(struct.pack(">H", len(q)) + q); a = s.recv(4096)[2:]
    else:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect(("127.0.0.1", 53)); s.send(q); a = s.recv(4096)
    return a[3] & 15, struct.unpack(">H", a[6:8])[0]
long = ".".join(["x" * 60] * 4)
for tcp in (False, True):
    print("TXT", ask("c2VjcmV0.example.net", 16, tcp), "granted TXT", ask("data.example.org", 16, tcp))
    print("long", ask(long, 1, tcp), "NULL", ask("a.example.net", 10, tcp), "SOA", ask("example.com", 6, tcp))
def connect(address, port, family=socket.AF_INET):
    s = socket.socket(family)
    s.settimeout(5)
    try:
        s.connect((address, port))
        s.sendall(b"GET / HTTP/1.1\r\nHost: data.example.org\r\n\r\n")
        return s.recv(100)
    except OSError as e:
        return errno.errorcode.get(e.errno, e)
known = socket.gethostbyname("data.example.org")
print(all(connect("198.18.%d.%d" % (random.randrange(1, 256), random.randrange(256)), 80) == "ECONNRESET" for _ in range(20)))
print(connect("198.19.255.255", 80), connect("fd73:616c:6c79::ffff", 80, socket.AF_INET6), connect("127.0.0.1", 80))
print(connect(known, 22), connect(known, 3306), connect("93.184.216.1", 80), connect("8.8.8.8", 53), connect("fd73:616c:6c7a::1", 80, socket.AF_INET6))
print(socket.gethostbyname("data.example.org") == known)
`)
	want := `TXT (3, 0) granted TXT (0, 0)
long (3, 0) NULL (3, 0) SOA (0, 0)
TXT (3, 0) granted TXT (0, 0)
long (3, 0) NULL (3, 0) SOA (0, 0)
True
ECONNRESET ECONNRESET ECONNRESET
ECONNREFUSED ECONNREFUSED ENETUNREACH ENETUNREACH ENETUNREACH
True
`
	res := w.run(sallyport.SpawnOptions{}, "python3", "try.py")
	if diff := cmp.Diff(want, string(res.Stdout)); diff != "" || res.ExitCode != 0 {
		t.Errorf("exit %d (-want +got):\n%s\n%s", res.ExitCode, diff, res.Stderr)
	}
	for _, name := range []string{"c2VjcmV0.example.net", "a.example.net", "198.19.255.255", "127.0.0.1"} {
		if u := used(res, strings.ToLower(name)); u == nil || u.Allowed {
			t.Errorf("%s is not recorded: %+v", name, res.Touched.Hosts)
		}
	}
}

// A child without hosts has no resolver, and takes a port that another has granted.
func TestDirectWithoutNetwork(t *testing.T) {
	t.Parallel()
	installed(t, "python3")
	w := workspace(t, open(t, &Options{}))
	out := w.ok(nil, "python3", "-c", `
import os, socket
try: socket.getaddrinfo("data.example.org", 80)
except socket.gaierror as e: print(e.errno == socket.EAI_NONAME)
print(os.path.exists("/etc/resolv.conf"), socket.create_server(("127.0.0.1", 5432)) is not None)`)
	if out != "True\nFalse True\n" {
		t.Errorf("a child without a network says %q", out)
	}
}
