package upstream_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/lock"
)

// place writes a file of a folder.
func place(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDecode(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	script, linked := place(t, dir, "server.py"), place(t, dir, "pkg/index.js")
	if err := os.Symlink("pkg/index.js", filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	place(t, dir, "data.json")
	for _, tt := range []struct {
		name, text string
		want       upstream.Server
	}{
		{"command", `{"command": ["python3", "./server.py", "./data.json", "${workspace}/x", "--root=${home}", "/etc/passwd", "plain", "./later"],
			"cwd": "${self}", "env": {"A": "b", "N": 1, "P": "${workspace}/m.json"},
			"secret_env": {"TOKEN": {"secret": "far/token", "hosts": ["api.example.com"], "prefixes": ["key="]}},
			"capabilities": {"network": {"allowedHosts": ["*.example.com"]}, "fs_reach": {"read": "from-personality"}},
			"permissions": ["a:b"], "rate_limit": {"requests": 2, "window": "1m"}, "timeout": "90s", "concurrency": 3, "shared": true}`, upstream.Server{
			Command:  []string{"python3", script, dir + "/data.json", "/w/x", "--root=/h", "/etc/passwd", "plain", dir + "/later"},
			Programs: []string{script}, Dir: dir, Env: map[string]string{"A": "b", "N": "1", "P": "/w/m.json"},
			Secrets: []sallyport.ChildSecret{{Env: "TOKEN", Ref: "far/token", Hosts: []string{"api.example.com"}, Prefixes: []string{"key="}}},
			Capabilities: sallyport.Capabilities{
				Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*.example.com"}},
				FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()},
			},
			Permissions: []string{"a:b"}, RateLimit: &sallyport.RateLimit{Requests: 2, Window: time.Minute},
			Timeout: 90 * time.Second, Concurrency: 3, Shared: true,
		}},
		{"a linked script", `{"command": ["node", "${self}/bin", "-y"]}`, upstream.Server{Command: []string{"node", linked, "-y"}, Programs: []string{linked}}},
		{"a launcher that launches nothing", `{"command": ["npm", "start"]}`, upstream.Server{Command: []string{"npm", "start"}}},
		{"a package launcher", `{"command": ["npx", "-y", "@example/notes@1.2.3", "./data.json", "-x"]}`, upstream.Server{
			Command: []string{"npx", "-y", "@example/notes@1.2.3", dir + "/data.json", "-x"}, Arguments: []string{dir + "/data.json", "-x"},
			Package: &install.Package{Registry: install.NPM, Name: "@example/notes", Version: "1.2.3"},
		}},
		{"a package without a version", `{"command": ["uvx", "notes"]}`, upstream.Server{
			Command: []string{"uvx", "notes"}, Arguments: []string{}, Package: &install.Package{Registry: install.PyPI, Name: "notes"},
		}},
		{"the older transport", `{"url": "https://mcp.example/sse", "transport": "sse"}`, upstream.Server{URL: "https://mcp.example/sse", Transport: lock.TransportSSE}},
		{"url", `{"url": "https://mcp.example/mcp?tools=a", "headers": {"authorization": {"secret": "far/token", "prefix": "Bearer "}, "X-Team": "a"},
			"timeout": "1m"}`, upstream.Server{
			URL: "https://mcp.example/mcp?tools=a", Timeout: time.Minute,
			Headers: []upstream.Header{{Name: "X-Team", Value: "a"}, {Name: "Authorization", Value: "Bearer ", Secret: "far/token"}},
		}},
		{"url here", `{"url": "http://127.0.0.1:8080/mcp"}`, upstream.Server{URL: "http://127.0.0.1:8080/mcp"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := upstream.Decode("test", []byte(tt.text), &upstream.DecodeOptions{Dir: dir, Workspace: "/w", Home: "/h"})
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Name = "test"
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Decode differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ server, text, want string }{
		{"a__b", `{"command": ["node"]}`, `server name: "__" separates`},
		{"", `{}`, "expected exactly one of command and url"},
		{"", `{"command": ["node"], "url": "https://a.example/"}`, "expected exactly one of command and url"},
		{"", `{"command": ["node"], "comand": []}`, `/comand: unknown key; did you mean "command"?`},
		{"", `{"command": ["node"], "env": {}, "env": {}}`, `repeats the key "env"`},
		{"", `{"env": {"A": "b"}}`, "expected exactly one"},
		{"", `[]`, "expected a mapping"},
		{"", `{"command": "node server.js"}`, "/command: expected a list"},
		{"", `{"command": []}`, "/command: expected a list"},
		{"", `{"command": [1]}`, "/command/0: expected a text"},
		{"", `{"command": ["node"], "transport": "http"}`, "/transport: is only for a server with url"},
		{"", `{"url": "https://mcp.example/sse", "transport": "stdio"}`, "/transport: expected http"},
		{"", `{"command": ["./server"]}`, "/command/0: expected the name of a binary"},
		{"", `{"command": ["/usr/bin/node"]}`, "/command/0: expected the name of a binary"},
		{"", `{"command": ["*"]}`, "/command/0: not the name of a binary"},
		{"", `{"command": ["npx", "-y", "./server"]}`, "/command/0: npx: \"./server\" is not the name of a package"},
		{"", `{"command": ["npx", "-c", "server@1.2.3"]}`, "/command/0: npx: option \"-c\" is not supported"},
		{"", `{"command": ["npm", "exec", "server"]}`, "/command/0: npm exec: write it with npx"},
		{"", `{"command": ["npm", "create", "server"]}`, "/command/0: npm create fetches a package that is not pinned"},
		{"", `{"command": ["node"], "env": {"NODE_OPTIONS": "--require=/x"}}`, "/env/NODE_OPTIONS: no child gets this variable"},
		{"", `{"command": ["node"], "secret_env": {"LD_PRELOAD": {"secret": "a/b", "hosts": ["a.example"]}}}`, "/secret_env/LD_PRELOAD: no child gets this variable"},
		{"", `{"command": ["docker", "run", "x"]}`, "/command/0: docker asks a service"},
		{"", `{"command": ["node", "a${workspace}"]}`, "/command/1: a variable may stand only at the beginning"},
		{"", `{"command": ["node", "${nothing}"]}`, "/command/1: "},
		{"", `{"command": ["node"], "cwd": 1}`, "/cwd: expected the path"},
		{"", `{"command": ["node"], "env": {"A B": "c"}}`, "/env/A B: not the name"},
		{"", `{"command": ["node"], "env": {"A": "x${TOKEN}"}}`, "/env/A: a variable may stand only at the beginning; put a secret under secret_env"},
		{"", `{"command": ["node"], "env": {"A": {}}}`, "/env/A: expected a text"},
		{"", `{"command": ["node"], "secret_env": {"A": {"secret": "a/b"}}}`, "/secret_env/A/hosts: expected the hosts"},
		{"", `{"command": ["node"], "secret_env": {"A": {"secret": "a/b", "hosts": ["a.example"]}}}`, "/secret_env/A/hosts: the host a.example is not in capabilities.network"},
		{"", `{"command": ["node"], "secret_env": {"A": {"secret": "a/*", "hosts": []}}}`, "/secret_env/A/secret: not a secret reference"},
		{"", `{"command": ["node"], "secret_env": {"A": {"secret": "a/b", "hosts": ["a.example"], "prefixes": ["%4"]}}}`, "/secret_env/A/prefixes: expected at most 8 prefixes"},
		{"", `{"command": ["node"], "secret_env": {"A": "hunter2"}}`, "/secret_env/A: expected a mapping"},
		{"", `{"command": ["node"], "env": {"A": "b"}, "secret_env": {"A": {"secret": "a/b", "hosts": ["a.example"]}}}`, "/secret_env/A: is a variable of env already"},
		{"", `{"command": ["node"], "headers": {"A": "b"}}`, "/headers: is only for a server with url"},
		{"", `{"command": ["node"], "capabilities": {"database": {"connections": ["a"]}}}`, "/capabilities/database: an MCP server cannot use this"},
		{"", `{"command": ["node"], "capabilities": {"net": {}}}`, "/capabilities/net: unknown key"},
		{"", `{"command": ["node"], "concurrency": 1000}`, "/concurrency: expected 1 to 256"},
		{"", `{"command": ["node"], "concurrency": -1}`, "/concurrency: expected a whole number"},
		{"", `{"command": ["node"], "timeout": 5}`, "/timeout: expected a text"},
		{"", `{"command": ["node"], "rateLimit": {"requests": 0, "window": "1m"}}`, "/rateLimit: expected at least 1 request"},
		{"", `{"command": ["node"], "shared": "yes"}`, "/shared: expected true or false"},
		{"", `{"url": "http://mcp.example/"}`, "/url: expected https"},
		{"", `{"url": "ftp://mcp.example/"}`, "/url: expected https"},
		{"", `{"url": "mcp.example"}`, "/url: expected an absolute address"},
		{"", `{"url": "https://u:hunter2@mcp.example/"}`, "/url: the address holds a user"},
		{"", `{"url": "https://mcp.example/?apiKey=hunter2"}`, `/url: "apiKey" in the address looks like a secret`},
		{"", `{"url": "https://mcp.example/#hunter2"}`, "/url: a fragment"},
		{"", `{"url": "https://mcp.example/", "env": {"A": "b"}}`, "/env: is only for a server with command"},
		{"", `{"url": "https://mcp.example/", "headers": {"Host": "a"}}`, "/headers/Host: a declaration may not set this header"},
		{"", `{"url": "https://mcp.example/", "headers": {"proxy-authorization": "a"}}`, "/headers/proxy-authorization: a declaration may not set this header"},
		{"", `{"url": "https://mcp.example/", "headers": {"A B": "a"}}`, "/headers/A B: not the name"},
		{"", `{"url": "https://mcp.example/", "headers": {"A": "a", "a": "b"}}`, "/headers/a: the header is given twice"},
		{"", `{"url": "https://mcp.example/", "headers": {"A": "a\r\nB: c"}}`, "/headers/A: a header cannot contain this character"},
		{"", `{"url": "https://mcp.example/", "headers": {"A": {"secret": "a/b", "prefx": ""}}}`, `/headers/A/prefx: unknown key; did you mean "prefix"?`},
		{"", `{"url": "https://mcp.example/", "capabilities": {"fs_reach": {"read": []}}}`, "/capabilities/fs_reach: a remote server runs elsewhere"},
	} {
		name := tt.server
		if name == "" {
			name = "test"
		}
		_, err := upstream.Decode(name, []byte(tt.text), &upstream.DecodeOptions{Dir: "/d", Workspace: "/w"})
		faults, ok := errors.AsType[upstream.Faults](err)
		if !ok || len(faults) == 0 || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Decode(%s) = %v, want %q", tt.text, err, tt.want)
		}
	}
}

// FuzzDecode: New takes every server that Decode accepts.
func FuzzDecode(f *testing.F) {
	f.Add("test", []byte(`{"command": ["python3", "./server.py"], "env": {"A": "b"}}`))
	f.Add("a_b", []byte(`{"url": "https://mcp.example/mcp", "headers": {"A": {"secret": "a/b"}}}`))
	f.Add("a", []byte(`{"command": ["npx"], "secret_env": {"A": {"secret": "a/b", "hosts": ["*"]}}}`))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		s, err := upstream.Decode(name, text, &upstream.DecodeOptions{Dir: "/d", Workspace: "/w", Home: "/h"})
		if err != nil {
			if faults, ok := errors.AsType[upstream.Faults](err); !ok || len(faults) == 0 {
				t.Fatalf("Decode(%q) = %v, want faults", text, err)
			}
			return
		}
		if _, err := upstream.New([]upstream.Server{s}, nil); err != nil {
			t.Errorf("Decode(%q) succeeds and New says %v", text, err)
		}
	})
}
