package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// The test tries every special range in every spelling of an address. With
// every host allowed, only the floor refuses them.
func TestCVE_2026_44430_CVE_2026_26118_SpecialAddresses(t *testing.T) {
	t.Parallel()
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
personalities:
  web: {toolset: [fetch_url, http-get], safety: {network: {allow: ["*"]}}}
principals: {local: {permissions: ["http:read"], personalities: [web]}}
`)
	library := librarySurface(t, dir)
	s := serveHTTP(t, dir)
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.255.255.254", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "2130706433", "0", "0.0.0.0", "127.0.0.1.",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
		"[2001:0:7f00:1::]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[100::1]", "[2001:db8::1]", "[ff02::1]",
		"10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "100.100.100.200", "169.254.169.254", "169.254.169.254.", "0xa9fea9fe", "2852039166",
		"192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "metadata.google.internal", "metadata.google.internal.",
		"①②⑦.⓪.⓪.①", "127。0。0。1", "user@127.0.0.1", "example.com@127.0.0.1", "127.0.0.1#@example.com", "127.0.0.1\\@example.com",
	} {
		args, err := json.Marshal(map[string]string{"url": "http://" + host + "/latest/meta-data/"})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"fetch_url", "http-get"} {
			for where, v := range map[string]verdict{"library": library.call(t, tool, string(args)), "HTTP": s.overAPI(t, "application/json", tool, string(args))} {
				if v.OK || !strings.Contains(v.Text, "HOST_NOT_ALLOWED: ") && v.Code != "input_invalid" {
					t.Errorf("%s, %s of %s = %+v, want a refusal", where, tool, host, v)
				}
			}
		}
	}
	s.stop(t)
}

// A granted server redirects elsewhere, with an HTTP redirect or with the
// address of a server of the protocol. Each hop is checked like a request.
func TestCVE_2026_45609_GHSA_3768_rwj3_38p2_RedirectsAreJudged(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inner.Close)
	var to atomic.Value
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to.Load().(string))
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	t.Cleanup(outer.Close)
	host := strings.TrimPrefix(outer.URL, "http://")
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
mcp_servers: {far: {url: "`+outer.URL+`/mcp"}}
personalities:
  web:
    toolset: [fetch_url, leads]
    mcp_servers: [far]
    safety: {network: {allow: ["`+host+`"], allow_private_urls: true}}
principals: {local: {permissions: ["http:read"], personalities: [web]}}
actions: [{id: leads, handler: {http: {url: "`+outer.URL+`/"}}}]
`)
	library := librarySurface(t, dir)
	for _, target := range []string{
		inner.URL, "http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "https://" + host + "/", "file:///etc/passwd", "gopher://" + host, "//127.0.0.1:1/",
	} {
		to.Store(target)
		for tool, args := range map[string]string{"fetch_url": `{"url":"` + outer.URL + `/"}`, "leads": `{}`} {
			if v := library.call(t, tool, args); v.OK {
				t.Errorf("%s led to %s = %+v, want a refusal", tool, target, v)
			}
		}
		if out, err := sallyportCommand(dir, "call", "mcp__far__x").CombinedOutput(); err == nil {
			t.Errorf("the server led to %s = %s, want it unavailable", target, out)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("what was not granted was reached %d times", n)
	}
}

// reachFolder creates a granted folder and the files around it.
func reachFolder(t *testing.T) (dir, data string) {
	t.Helper()
	dir = configured(t, `version: 1
state: sqlite:.sallyport/state.db
workspace: ./data
personalities:
  reader:
    toolset: ["@file", file-read]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}
principals: {local: {permissions: ["file:read"], personalities: [reader]}}
`)
	data = filepath.Join(dir, "data")
	for name, text := range map[string]string{"data/note": "a note", "data/in/file": "inside", "database/note": theSecret, "secret/note": theSecret} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		place(t, dir, name, text)
	}
	for link, target := range map[string]string{
		"out": "../secret", "file": "../secret/note", "abs": filepath.Join(dir, "secret"), "chain": "out", "root": "/", "proc": "/proc/self/root",
		"zero": "/dev/zero", "good": "in/file",
	} {
		if err := os.Symlink(target, filepath.Join(data, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, data
}

const theSecret = "what the role was never granted"

// Links, and neighbours with the same name prefix, lead out of the granted
// folder. No surface reads, lists, searches or writes anything outside it.
func TestCVE_2025_53109_CVE_2025_53110_LinksAndPrefixes(t *testing.T) {
	t.Parallel()
	dir, data := reachFolder(t)
	surfaces := surfacesOf(t, dir)
	for _, path := range []string{
		"out/note", "file", "abs/note", "chain/note", "root/etc/passwd", "proc/etc/passwd", "zero", "../secret/note", "in/../../secret/note",
		data + "base/note", data + "/../database/note", "/proc/self/root" + dir + "/secret/note", "/proc/self/cwd/../secret/note", "/dev/fd/0",
		"note\x00/../../secret/note", "./././../secret/note", "//" + dir + "/secret/note", "DATA/../../secret/note",
	} {
		text, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, call := range []struct{ tool, args string }{
			{"read_file", `{"path":%s}`},
			{"file-read", `{"path":%s}`},
			{"list_files", `{"path":%s}`},
			{"search_files", `{"path":%s,"pattern":"granted"}`},
			{"write_file", `{"path":%s,"content":"x"}`},
			{"patch_file", `{"path":%s,"old_text":"granted","new_text":"x"}`},
		} {
			for _, s := range surfaces {
				if i > 0 && s.name != "Go library" {
					continue // all tools on one surface, one tool on all
				}
				v := s.call(t, call.tool, fmt.Sprintf(call.args, text))
				if v.OK || strings.Contains(v.Text, theSecret) {
					t.Errorf("%s: %s %q = %+v, want a refusal", s.name, call.tool, path, v)
				}
			}
		}
	}
	if v := surfaces[0].call(t, "read_file", `{"path":"good"}`); !v.OK || !strings.Contains(v.Text, "inside") {
		t.Errorf("a link that stays inside = %+v, want its file", v)
	}
	for _, name := range []string{"secret/note", "database/note"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != theSecret {
			t.Errorf("%s = %q, %v, want it as it was", name, text, err)
		}
	}
}

// An attacker keeps replacing a file by a link that leads out of the folder.
func TestCVE_2025_53109_RacingLinks(t *testing.T) {
	t.Parallel()
	dir, data := reachFolder(t)
	library := librarySurface(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	var swapping sync.WaitGroup
	swapping.Go(func() {
		good, bad, name := filepath.Join(data, "in"), filepath.Join(dir, "secret"), filepath.Join(data, "swap")
		for i := 0; ctx.Err() == nil; i++ {
			target := good
			if i%2 == 1 {
				target = bad
			}
			if err := errors.Join(os.Symlink(target, name+".new"), os.Rename(name+".new", name)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range needs.Count(50, 150) {
		for _, args := range []string{`{"path":"swap/note"}`, `{"path":"swap/file"}`} {
			if v := library.call(t, "read_file", args); strings.Contains(v.Text, theSecret) {
				t.Fatalf("read_file %s = %+v, want nothing of what lies outside", args, v)
			}
		}
		library.call(t, "write_file", `{"path":"swap/planted","content":"x"}`)
	}
	cancel()
	swapping.Wait()
	if _, err := os.Lstat(filepath.Join(dir, "secret", "planted")); !os.IsNotExist(err) {
		t.Errorf("Lstat() = %v, want nothing written outside", err)
	}
}

// Values that look like options stay values: they reach no command line. Where
// a tool passes names on, it refuses those that begin like options.
func TestCVE_2025_68143_CVE_2025_68144_CVE_2025_68145_CVE_2026_27735_CVE_2026_7812_Options(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
personalities:
  ops:
    toolset: [log, run_tests, lint, terminal, process_start, run_code]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}/out"]}
actions:
  - id: log
    parameters: {ref: {type: string}, paths: {type: array}}
    handler: {exec: {path: ./log.py}}
`)
	place(t, dir, "log.py", `import json, sys
print(json.dumps({"argv": sys.argv[1:], "ref": json.load(sys.stdin)["params"]["ref"]}))
`)
	place(t, dir, "go.mod", "module example.com/m\n")
	surfaces := surfacesOf(t, dir)
	for i, value := range []string{"--output=/tmp/x", "-c core.pager=sh", "; touch /tmp/x", "$(touch x)", "`id`", "a\nb", "--upload-pack=touch x"} {
		args, err := json.Marshal(map[string]any{"ref": value, "paths": []string{value}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range surfaces {
			if i > 0 && s.name != "Go library" {
				continue // all values on one surface, one value on all
			}
			v := s.call(t, "log", string(args))
			if !v.OK || !strings.Contains(v.Text, `"argv": []`) && !strings.Contains(v.Text, `"argv":[]`) {
				t.Errorf("%s with %q = %+v, want no argument", s.name, value, v)
			}
		}
	}
	library := surfaces[slices.IndexFunc(surfaces, func(s surface) bool { return s.name == "Go library" })]
	for tool, args := range map[string]string{
		"run_tests": `{"targets":["-exec=/bin/sh"]}`, "lint": `{"targets":["--config=/etc/passwd"]}`,
		"terminal": `{"command":"pwd","cwd":"/etc"}`, "process_start": `{"command":"pwd","cwd":"../"}`, "run_code": `{"language":"python","code":"1","cwd":"/"}`,
	} {
		if v := library.call(t, tool, args); v.OK || v.Code == "not_available" {
			t.Errorf("%s %s = %+v, want a refusal", tool, args, v)
		}
	}
}
