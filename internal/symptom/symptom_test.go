package symptom

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatProgramsSay has lines as the programs print them.
func TestWhatProgramsSay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		program, line string
		kind          Kind
		name          string
	}{
		{"touch", `touch: cannot touch 'no.txt': Read-only file system`, Write, "no.txt"},
		{"bash", `bash: line 1: out/x.txt: Read-only file system`, Write, "out/x.txt"},
		{"node", `Error: EROFS: read-only file system, open '/srv/data/a.json'`, Write, "/srv/data/a.json"},
		{"python", `OSError: [Errno 30] Read-only file system: '/srv/no.txt'`, Write, "/srv/no.txt"},
		{"go", `open /srv/data/a.db: read-only file system`, Write, "/srv/data/a.db"},
		{"mkdir in another locale", `mkdir: cannot create directory ‘/srv/d’: Read-only file system`, Write, "/srv/d"},
		{"cat", `cat: ../out/secret: No such file or directory`, Missing, "../out/secret"},
		{"node", `ENOENT: no such file or directory, stat '/srv/x'`, Missing, "/srv/x"},
		{"playwright", `Chromium distribution 'chrome' is not found at /opt/google/chrome/chrome`, Missing, "/opt/google/chrome/chrome"},
		{"playwright", `browserType.launch: Executable doesn't exist at /root/.cache/ms-playwright/chromium/chrome`, Missing, "/root/.cache/ms-playwright/chromium/chrome"},
		{"ls", `ls: cannot open directory '/root/.ssh': Permission denied`, Denied, "/root/.ssh"},
		{"node", `Error: EACCES: permission denied, mkdir '/var/lib/x'`, Denied, "/var/lib/x"},
		{"curl", `curl: (6) Could not resolve host: api.github.com`, Host, "api.github.com"},
		{"curl", `curl: (7) Failed to connect to localhost port 8080 after 0 ms: Connection refused`, Host, "localhost:8080"},
		{"curl 8", `curl: (7) Failed to connect to 127.0.0.1 port 8080 after 0 ms: Couldn't connect to server`, Host, "127.0.0.1:8080"},
		{"node", `Error: connect ECONNREFUSED 127.0.0.1:5432`, Host, "127.0.0.1:5432"},
		{"node", `Error: getaddrinfo ENOTFOUND db.example.com`, Host, "db.example.com"},
		{"go", `dial tcp: lookup db.example.com on 127.0.0.1:53: no such host`, Host, "db.example.com"},
		{"go", `dial tcp 10.0.0.7:443: connect: connection refused`, Host, "10.0.0.7:443"},
		{"requests", `HTTPSConnectionPool(host='api.x.com', port=443): Max retries exceeded (Name or service not known)`, Host, "api.x.com"},
		{"python", `<urlopen error [Errno -2] Name or service not known>`, Host, ""},
		{"python through the proxy", `<urlopen error Tunnel connection failed: 403 Forbidden>`, Host, ""},
		{"python through the proxy", `HTTP Error 403: Forbidden`, Host, ""},
		{"requests through the proxy", `HTTPSConnectionPool(host='api.x.com', port=443): Max retries exceeded (Tunnel connection failed: 403 Forbidden)`, Host, "api.x.com"},
		{"curl through the proxy", `curl: (56) CONNECT tunnel failed, response 403`, Host, ""},
		{"git through the proxy", `fatal: unable to access 'https://example.org/a.git/': Received HTTP code 403 from proxy after CONNECT`, Host, "example.org"},
		{"node through the proxy", `RequestAbortedError: Proxy response (403) !== 200 when HTTP Tunneling`, Host, ""},
		{"node", `TypeError: fetch failed`, Host, ""},
		{"a page", `TypeError: Failed to fetch`, Host, ""},
		{"httpx", `httpx.ConnectError: All connection attempts failed`, Host, ""},
		{"the client of OpenAI", `openai.APIConnectionError: Connection error.`, Host, ""},
		{"aiohttp", `Cannot connect to host api.x.com:443 ssl:default [Name or service not known]`, Host, "api.x.com:443"},
		{"ruby", `Failed to open TCP connection to api.x.com:443 (getaddrinfo: Name or service not known)`, Host, "api.x.com:443"},
		{"java", `java.net.UnknownHostException: api.x.com`, Host, "api.x.com"},
		{"chrome", `page.goto: net::ERR_CONNECTION_REFUSED at http://127.0.0.1:1234/a`, Host, "127.0.0.1:1234"},
		{"bash", `bash: line 1: nosuchbin: command not found`, Program, "nosuchbin"},
		{"node", `Error: spawn git ENOENT`, Program, "git"},
		{"dash", `sh: 1: cannot create out.txt: Read-only file system`, Write, "out.txt"},
		{"dash", `sh: 1: cannot open in.txt: No such file`, Missing, "in.txt"},
		{"sed", `sed: couldn't open temporary file ./sedX1: Read-only file system`, Write, "./sedX1"},
		{"tar", `tar: q.tar: Cannot open: Read-only file system`, Write, "q.tar"},
		{"git", `fatal: could not create leading directories of .git/a: Read-only file system`, Write, ".git/a"},
		{"go", `open out.db: read-only file system`, Write, "out.db"},
		{"go", `main: mkdir build: permission denied`, Denied, "build"},
		{"java", `java.io.FileNotFoundException: out.txt (Read-only file system)`, Write, "out.txt"},
		{"ruby", `Read-only file system @ rb_sysopen - out.txt (Errno::EROFS)`, Write, "out.txt"},
		{"cat of a name with a blank", `cat: my file: No such file or directory`, Missing, "my file"},
		{"dash", `sh: 1: tsc: not found`, Program, "tsc"},
		{"a script of dash", `./build.sh: 3: rg: not found`, Program, "rg"},
		{"busybox", `sh: rg: not found`, Program, "rg"},
		{"zsh", `zsh: command not found: rg`, Program, "rg"},
		{"env", `/usr/bin/env: ‘node’: No such file or directory`, Program, "node"},
		{"make", `make: gcc: No such file or directory`, Program, "gcc"},
		{"python", "raise child_exception_type(errno_num, err_msg, err_filename)\nFileNotFoundError: [Errno 2] No such file or directory: 'rg'", Program, "rg"},
		{"python", "open('in.txt')\nFileNotFoundError: [Errno 2] No such file or directory: 'in.txt'", Missing, "in.txt"},
		{"xargs", `xargs: rg: No such file or directory`, Program, "rg"},
		{"timeout", `timeout: failed to run command ‘rg’: No such file or directory`, Program, "rg"},
		{"go", `exec: "chrome": executable file not found in $PATH`, Program, "chrome"},
		{"node", `Error: listen EAFNOSUPPORT: address family not supported`, Socket, ""},
	} {
		t.Run(tt.program+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			got := Find("first line\n" + tt.line + "\nlast line\n")
			if len(got) != 1 || got[0].Kind != tt.kind || got[0].Name != tt.name || got[0].Folder != strings.Contains(tt.line, "mkdir") || !strings.Contains(tt.line, got[0].Said) {
				t.Errorf("Find(%q) = %+v, want %s %q", tt.line, got, tt.kind, tt.name)
			}
		})
	}
}

func TestFindIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100 {
		b.WriteString("cat: f" + strings.Repeat("x", i) + ": No such file or directory\n")
	}
	b.WriteString("cat: " + strings.Repeat("y", maxName+1) + ": No such file or directory\n")
	b.WriteString("cat: a\x1b[2J: No such file or directory\n")
	if got := Find(b.String()); len(got) != maxFound {
		t.Errorf("Find() = %d symptoms, want %d", len(got), maxFound)
	}
	for _, text := range []string{
		"", "all is well", "cat: a\x1b[2J: No such file or directory", "No such file or directory",
		"PermissionError: [Errno 1] Operation not permitted", "OSError: [Errno 30] Read-only file system", "error: page: not found",
	} {
		if got := Find(text); len(got) != 0 {
			t.Errorf("Find(%q) = %+v, want none", text, got)
		}
	}
	twice := "cat: a: No such file or directory\n"
	if diff := cmp.Diff([]Symptom{{Kind: Missing, Name: "a", Said: "No such file or directory"}}, Find(twice+twice)); diff != "" {
		t.Error(diff)
	}
}

func TestAReasonWithoutAName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		kind Kind // none is found without one
		said string
	}{
		{"PermissionError: [Errno 1] Operation not permitted", Denied, "Operation not permitted"},
		{"OSError: [Errno 30] Read-only file system", Write, "Read-only file system"},
		{"npm error code ENOENT", Missing, "ENOENT"},
		{"cat: a: No such file or directory\nTypeError: fetch failed", Host, "fetch failed"},
		{"cat: a\x1b[2J: No such file or directory", Missing, "No such file or directory"},
		{"cat: a: No such file or directory", "", ""},
		{"command not found", "", ""},
		{"listen EAFNOSUPPORT: address family not supported", "", ""},
		{"1 test failed", "", ""},
	} {
		got, ok := FindUnnamed(tt.text)
		if want := (Symptom{Kind: tt.kind, Said: tt.said}); got != want || ok != (tt.kind != "") {
			t.Errorf("FindUnnamed(%q) = %+v, %v, want %+v", tt.text, got, ok, want)
		}
	}
}

func TestHostsInArguments(t *testing.T) {
	t.Parallel()
	got := HostsIn(`{"a":"https://a.example/x?y=http://b.example:8080","b":["http://a.example","http://[::1]:80/"]}`)
	if diff := cmp.Diff([]string{"a.example", "b.example:8080", "[::1]:80"}, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("touch: cannot touch 'no.txt': Read-only file system")
	f.Add("connect ECONNREFUSED [::1]:80")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range Find(text) {
			if s.Kind != Socket && s.Kind != Host && !isName(s.Name) {
				t.Errorf("Find(%q) names %q", text, s.Name)
			}
		}
	})
}
