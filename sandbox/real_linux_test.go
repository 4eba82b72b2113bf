package sandbox

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

// identity is who commits.
var identity = map[string]string{
	"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org",
	"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org",
}

// gitServer serves a repository with one commit.
func gitServer(t *testing.T) http.Handler {
	t.Helper()
	root := t.TempDir()
	work, bare := filepath.Join(root, "work"), filepath.Join(root, "hello.git")
	env := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	for name, value := range identity {
		env = append(env, name+"="+value)
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "README"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", work},
		{"-C", work, "add", "."},
		{"-C", work, "commit", "-q", "-m", "begin"},
		{"clone", "-q", "--bare", work, bare},
		{"-C", bare, "config", "http.receivepack", "true"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	where, err := exec.CommandContext(t.Context(), "git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(where)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=1",
			"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	}
}

func TestGit(t *testing.T) {
	t.Parallel()
	installed(t, "git")
	net := newWorld()
	server := gitServer(t)
	net.serve(t, "code.example.org", server)
	net.serve(t, "other.example.org", server)
	w := workspace(t, open(t, &Options{Network: net.backend()}), "code.example.org")

	res := w.run(sallyport.SpawnOptions{}, "git", "clone", "http://code.example.org/hello.git")
	if res.ExitCode != 0 {
		t.Fatalf("git clone = exit %d: %s", res.ExitCode, res.Stderr)
	}
	if u := used(res, "code.example.org"); u == nil || !u.Allowed || u.Received == 0 {
		t.Errorf("Touched.Hosts = %+v, want code.example.org allowed with bytes", res.Touched.Hosts)
	}
	w.write("hello/README", "hello, world\n")
	repo := filepath.Join(w.dir, "hello")
	w.ok(identity, "git", "-C", repo, "commit", "-q", "-a", "-m", "greet the world")
	if got := w.ok(nil, "git", "-C", repo, "log", "--format=%s"); got != "greet the world\nbegin\n" {
		t.Errorf("git log = %q", got)
	}
	w.ok(nil, "git", "-C", repo, "push", "-q", "origin", "HEAD:refs/heads/mine")
	w.ok(nil, "git", "-C", repo, "fetch", "-q", "origin", "mine")
	w.ok(nil, "git", "-C", repo, "gc", "-q")

	res = w.run(sallyport.SpawnOptions{}, "git", "clone", "http://other.example.org/hello.git", "refused")
	if res.ExitCode == 0 {
		t.Error("git clone of a host that is not granted succeeded")
	}
	if u := used(res, "other.example.org"); u == nil || u.Allowed || u.Why == "" {
		t.Errorf("Touched.Hosts = %+v, want other.example.org refused with a reason", res.Touched.Hosts)
	}
}

// npmRegistry serves one package.
func npmRegistry(t *testing.T) http.Handler {
	t.Helper()
	var tarball bytes.Buffer
	zipped := gzip.NewWriter(&tarball)
	archive := tar.NewWriter(zipped)
	manifest := map[string]any{
		"name": "greet", "version": "1.0.0", "main": "index.js", "bin": map[string]string{"greet": "cli.js"},
		"scripts": map[string]string{"postinstall": "node install.js"},
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"package.json": string(text), "index.js": "module.exports = n => 'hello, ' + n\n",
		"cli.js":     "#!/usr/bin/env node\nconsole.log(require('./index.js')('cli'))\n",
		"install.js": "require('fs').writeFileSync('installed', process.version)\n",
	} {
		if err := archive.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(archive, body)
	}
	archive.Close()
	zipped.Close()
	sum := sha512.Sum512(tarball.Bytes())
	manifest["dist"] = map[string]string{
		"tarball":   "http://registry.example.org/greet/-/greet-1.0.0.tgz",
		"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
	}
	packument := map[string]any{
		"name": "greet", "dist-tags": map[string]string{"latest": "1.0.0"}, "versions": map[string]any{"1.0.0": manifest},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /greet", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(packument) })
	mux.HandleFunc("GET /greet/-/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(tarball.Bytes()) })
	return mux
}

func TestNpm(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	installed(t, "npm", "node")
	net := newWorld()
	net.serve(t, "registry.example.org", npmRegistry(t))
	w := workspace(t, open(t, &Options{Network: net.backend()}), "registry.example.org")
	w.write("package.json", `{"name": "app", "version": "1.0.0", "private": true}`)
	w.ok(map[string]string{"npm_config_registry": "http://registry.example.org/", "npm_config_audit": "false"},
		"npm", "install", "--no-fund", "greet")
	if out := w.ok(nil, "node", "-e", "console.log(require('greet')('npm'))"); out != "hello, npm\n" {
		t.Errorf("node with the package = %q", out)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "node_modules/greet/installed")); err != nil {
		t.Errorf("the postinstall script left nothing: %v", err)
	}
	cli := []string{"-c", "node_modules/.bin/greet"}
	if res := w.run(sallyport.SpawnOptions{}, "sh", cli...); res.ExitCode != 126 {
		t.Errorf("an installed program without execFrom = exit %d, want 126", res.ExitCode)
	}
	w.grant.Process.ExecFrom = []string{w.dir}
	if out := w.ok(nil, "sh", cli...); out != "hello, cli\n" {
		t.Errorf("an installed program with execFrom = %q", out)
	}
}

const pythonScript = `
import multiprocessing, os, sqlite3, subprocess, sys, tempfile, threading, urllib.request, urllib.error, pwd, ssl, socket

def square(n): return n * n

if __name__ == '__main__':
    print(urllib.request.urlopen('http://data.example.org/').read().decode().strip())
    try:
        urllib.request.urlopen('http://other.example.org/')
        print('reached')
    except urllib.error.HTTPError as e:
        print('refused', e.code)
    print(subprocess.run(['sh', '-c', 'echo sub; exit 3'], capture_output=True).stdout.decode().strip())
    with multiprocessing.Pool(2) as p: print(p.map(square, [1, 2, 3]))
    q = multiprocessing.Queue(); q.put('queued'); print(q.get())
    db = sqlite3.connect('data.db')
    db.execute('pragma journal_mode=wal')
    db.execute('create table t(x)'); db.execute('insert into t values (7)'); db.commit()
    print(db.execute('select x from t').fetchone()[0]); db.close()
    with tempfile.NamedTemporaryFile() as f: print(f.name.startswith('/tmp/'))
    print(pwd.getpwuid(os.getuid()).pw_name, os.path.expanduser('~'))
    a, b = socket.socketpair(); a.send(b'pair'); print(b.recv(4).decode())
    r = []; t = threading.Thread(target=lambda: r.append(1)); t.start(); t.join(); print(len(r))
    try: socket.create_connection(('93.184.216.1', 80), 2); print('routed')
    except OSError as e: print('no route', e.errno)
`

func TestPython(t *testing.T) {
	t.Parallel()
	installed(t, "python3")
	net := newWorld()
	net.serve(t, "data.example.org", textHandler("data"))
	net.serve(t, "other.example.org", textHandler("other"))
	w := workspace(t, open(t, &Options{Network: net.backend()}), "data.example.org")
	w.write("main.py", pythonScript)
	want := "data\nrefused 403\nsub\n[1, 4, 9]\nqueued\n7\nTrue\nagent /tmp/home\npair\n1\nno route 101\n"
	if diff := cmp.Diff(want, w.ok(nil, "python3", "main.py")); diff != "" {
		t.Errorf("python3 (-want +got):\n%s", diff)
	}
}

const nodeScript = `
const {execFileSync, spawn, fork} = require('child_process'), http = require('http'), os = require('os')
const {Worker, isMainThread, parentPort} = require('worker_threads')
if (process.argv[2] === 'child') { process.send('forked'); process.disconnect(); return }
const get = url => new Promise((ok, no) => http.get({host: '127.0.0.1', port: 3128, path: url,
  headers: {host: new URL(url).host}}, res => { let s = ''; res.on('data', d => s += d); res.on('end', () => ok([res.statusCode, s.trim()])) }).on('error', no))
const connect = target => new Promise((ok, no) => http.request({host: '127.0.0.1', port: 3128, method: 'CONNECT', path: target})
  .on('connect', (res, s) => { ok(res.statusCode); s.destroy() }).on('error', no).end())
const once = (e, n) => new Promise(ok => e.once(n, ok))
;(async () => {
  console.log(execFileSync('sh', ['-c', 'echo sub']).toString().trim())
  const p = spawn('cat'); p.stdin.end('piped'); console.log((await once(p.stdout, 'data')).toString())
  console.log(await once(fork(__filename, ['child']), 'message'))
  console.log(await once(new Worker("require('worker_threads').parentPort.postMessage('worker')", {eval: true}), 'message'))
  console.log(...await get('http://data.example.org/'))
  console.log((await get('http://other.example.org/'))[0])
  console.log(await connect('data.example.org:80'), await connect('other.example.org:443'))
  const s = http.createServer((q, r) => r.end('own')).listen(0, '127.0.0.1'); await once(s, 'listening')
  console.log(await new Promise(ok => http.get({port: s.address().port}, r => r.on('data', d => ok(d.toString()))))); s.close()
  console.log(os.userInfo().username, os.tmpdir())
  require('fs').writeFileSync('out', 'x'); require('fs').renameSync('out', 'in')
  console.log(await WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])))
  process.exit(0)
})().catch(e => { console.error(e); process.exit(1) })
`

func TestNode(t *testing.T) {
	t.Parallel()
	installed(t, "node")
	net := newWorld()
	net.serve(t, "data.example.org", textHandler("data"))
	net.serve(t, "other.example.org", textHandler("other"))
	w := workspace(t, open(t, &Options{Network: net.backend()}), "data.example.org")
	w.write("main.js", nodeScript)
	want := "sub\npiped\nforked\nworker\n200 data\n403\n200 403\nown\nagent /tmp\ntrue\n"
	if diff := cmp.Diff(want, w.ok(nil, "node", "main.js")); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
}

func TestCurl(t *testing.T) {
	t.Parallel()
	installed(t, "curl")
	net := newWorld()
	net.serve(t, "data.example.org", textHandler("plain"))
	net.serve(t, "other.example.org", textHandler("other"))
	// The certificate of httptest names example.com.
	server := httptest.NewUnstartedServer(textHandler("encrypted"))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are expected
	server.StartTLS()
	t.Cleanup(server.Close)
	net.serveName("example.com", 443, server.URL)
	net.serveName("other.example.org", 443, server.URL)
	w := workspace(t, open(t, &Options{Network: net.backend()}), "data.example.org", "example.com")
	w.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	socks := []string{"--socks5-hostname", "127.0.0.1:3128"}
	for _, c := range []struct {
		name string
		args []string
		out  string // empty: refused
		host string
	}{
		{"http", []string{"http://data.example.org/"}, "plain\n", "data.example.org"},
		{"http refused", []string{"-f", "http://other.example.org/"}, "", "other.example.org"},
		{"https", []string{"--cacert", "ca.pem", "https://example.com/"}, "encrypted\n", "example.com"},
		{"https refused", []string{"-k", "https://other.example.org/"}, "", "other.example.org"},
		{
			"another name in the handshake",
			[]string{"-k", "--connect-to", "front.example.org:443:example.com:443", "https://front.example.org/"},
			"", "example.com",
		},
		{"socks", append(socks, "http://data.example.org/"), "plain\n", "data.example.org"},
		{"socks and tls", append(socks, "--cacert", "ca.pem", "https://example.com/"), "encrypted\n", "example.com"},
		{"socks refused", append(socks, "http://other.example.org/"), "", "other.example.org"},
		{"no proxy", []string{"--noproxy", "*", "--connect-timeout", "5", "http://93.184.216.1/"}, "", ""},
		{"metadata", []string{"-f", "http://169.254.169.254/"}, "", "169.254.169.254"},
	} {
		res := w.run(sallyport.SpawnOptions{}, "curl", append([]string{"-sS"}, c.args...)...)
		if got := string(res.Stdout); got != c.out || (res.ExitCode == 0) != (c.out != "") {
			t.Errorf("%s: curl = exit %d, %q, want %q; stderr: %s", c.name, res.ExitCode, got, c.out, res.Stderr)
		}
		if u := used(res, c.host); c.host != "" && (u == nil || (c.out != "" && !u.Allowed)) {
			t.Errorf("%s: Touched.Hosts = %+v", c.name, res.Touched.Hosts)
		}
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	installed(t, "bash")
	w := workspace(t, open(t, nil))
	for _, c := range []struct{ name, script, want string }{
		{"pipeline", "set -o pipefail; seq 1000 | sort -rn | head -1", "1000\n"},
		{"here document", "cat <<E\nhere\nE", "here\n"},
		{"process substitution", "diff <(echo a) <(echo a) && echo same", "same\n"},
		{"job control", "sleep 0 & wait $!; echo $?", "0\n"},
		{"trap", "trap 'echo bye' EXIT; exit 0", "bye\n"},
		{"temporary", "f=$(mktemp) && echo x >$f && cat $f && rm $f", "x\n"},
		{"find and xargs", "mkdir -p d && touch d/a d/b && find d -type f | sort | xargs basename -a", "a\nb\n"},
		{"archive", "tar czf t.tgz d && tar tzf t.tgz | sort | tail -1", "d/b\n"},
		{"program in tmp", "printf '#!/bin/sh\necho ran\n' >/tmp/p && chmod +x /tmp/p && /tmp/p", "ran\n"},
		{"null and random", "head -c 4 /dev/urandom | wc -c; echo x >/dev/null; echo err >/dev/stderr", "4\n"},
		{"who", "id -un; whoami; echo $HOME $USER; hostname", "agent\nagent\n/tmp/home agent\nsandbox\n"},
		{"time zone", "TZ=Europe/Berlin date -d @0 +%H", "01\n"},
		{"processes", "ls /proc | grep -c '^[0-9]*$' | grep -q '^[1-5]$' && echo few", "few\n"},
		{"awk and sed", "echo a b | awk '{print $2}' | sed s/b/c/", "c\n"},
		{"lock", "flock f echo locked", "locked\n"},
		{"named pipe", "mkfifo p && (echo through >p &) && cat p", "through\n"},
	} {
		if got := w.ok(nil, "bash", "-c", c.script); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
