package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestABackupComesBack copies the state of a running server, and brings it back in
// another folder, where the record verifies and the token still counts.
func TestABackupComesBack(t *testing.T) {
	t.Parallel()
	dir, other := folder(t), folder(t)
	place(t, dir, "notes.txt", "text")
	place(t, other, "notes.txt", "text")
	s := serveHTTP(t, dir)
	call := func(s *service, token string) int {
		status, _ := s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"notes.txt"}}`, s.headers("Authorization", "Bearer "+token))
		return status
	}
	if status := call(s, s.token); status != 200 {
		t.Fatalf("the call = %d", status)
	}
	link, _, _ := strings.Cut(runSallyport(t, dir, "page"), "\n")
	link = strings.TrimPrefix(link, s.url)
	copied := filepath.Join(t.TempDir(), "copy")
	said := runSallyport(t, dir, "backup", copied)
	if !strings.Contains(said, "3 records are verified") {
		t.Errorf("backup says %q", said)
	}
	if status := call(s, s.token); status != 200 {
		t.Errorf("the call after the backup = %d", status)
	}
	if info, err := os.Stat(copied); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the backup is %v %v, want 0700", info.Mode(), err)
	}
	failing := func(want, dir string, args ...string) {
		t.Helper()
		out, err := sallyportCommand(dir, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%v = %v %s, want a failure that says %q", args, err, out, want)
		}
	}
	failing("is there already", dir, "backup", copied)
	// What was changed on the way is not brought back.
	for _, name := range []string{"state.db", "state.db-log/00000001", "audit.key", "backup.json"} {
		path := filepath.Join(copied, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := append([]byte(nil), good...)
		bad[len(bad)/2] ^= 1
		if name == "backup.json" {
			bad = []byte(strings.Replace(string(good), `"state.db":`, `"../../state.db":`, 1))
		}
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		failing("restore: ", other, "restore", copied)
		if _, err := os.Stat(filepath.Join(other, ".sallyport", "state.db")); err == nil {
			t.Fatalf("a changed %s was brought back", name)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	runSallyport(t, other, "restore", copied)
	failing("is there already", other, "restore", copied)
	if said := runSallyport(t, other, "audit", "verify"); !strings.Contains(said, "4 records") {
		t.Errorf("audit verify after the restore says %q, want the records of the call, the link and the restore", said)
	}
	if said := runSallyport(t, other, "audit", "tail"); !strings.Contains(said, "state.restore") {
		t.Errorf("the restore is not recorded: %s", said)
	}
	again := serveHTTP(t, other)
	if status := call(again, s.token); status != 200 {
		t.Errorf("the token after the restore = %d", status)
	}
	// The link may have been used since the backup.
	if status, said := again.request(t, "GET", link, "", nil); status != 401 {
		t.Errorf("a link of the backup = %d %s", status, said)
	}
	again.stop(t)
	s.stop(t)
	if left, _ := filepath.Glob(filepath.Join(other, ".sallyport", ".restore-*")); len(left) > 0 {
		t.Errorf("restore left %v", left)
	}
}

// TestABackupLiesWhereNoChildLooks: not in what every child sees, whatever roles grant; the
// deny floor does not close it there.
func TestABackupLiesWhereNoChildLooks(t *testing.T) {
	t.Parallel()
	const text = "version: 2\nworkspace: ./ws\nstate: sqlite:.sallyport/state.db\npersonalities: {default: {tools: [terminal]}}\n"
	named, found := configured(t, text+"sandbox:\n  toolchains: [./kit]\n"), configured(t, text)
	for _, path := range []string{"ws", "kit/bin", "kit/.ssh", "home/.cargo/bin", "home/.cargo/registry", "home/.rustup"} {
		for _, dir := range []string{named, found} {
			if err := os.MkdirAll(filepath.Join(dir, path), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct{ dir, to, want string }{
		{named, "kit/copy", "every child sees " + filepath.Join(named, "kit") + " (sallyport.yaml:6:16)"},
		{named, "kit/.ssh/copy", "every child sees"},
		{named, "/usr/there-is-no/copy", "every child sees /usr (the system)"},
		{named, "/etc/ssl/certs/there-is-no/copy", "every child sees /etc/ssl/certs (the system)"},
		{named, "home/.rustup/there-is-no/copy", "there is no state"},
		{found, "home/.rustup/copy", "every child sees " + filepath.Join(found, "home/.rustup") + " (sandbox.toolchains)"},
		{found, "home/.cargo/registry/copy", "every child sees"},
		{found, "kit/there-is-no/copy", "there is no state"},
	} {
		if code, said := tryHere(t, tt.dir, "backup", tt.to); code != exitFailed || !strings.Contains(said, tt.want) {
			t.Errorf("backup %s = %d %s, want a refusal with %q", tt.to, code, said, tt.want)
		}
	}
}

// TestABackupLiesWhereNoToolReaches: not in what a role reads, also behind a link; the folder
// of the state is closed to tools.
func TestABackupLiesWhereNoToolReaches(t *testing.T) {
	t.Parallel()
	dir := configured(t, `version: 2
workspace: ./ws
state: sqlite:.sallyport/state.db
personalities:
  default:
    tools: ["@file"]
    read: ["${workspace}"]
  other: {tools: ["@file"], write: [./out]}
`)
	for _, name := range []string{"ws", "out", "apart"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "ws"), filepath.Join(dir, "apart", "link")); err != nil {
		t.Skipf("there are no symbolic links: %v", err)
	}
	place(t, filepath.Join(dir, "ws"), "a.txt", "text")
	runSallyport(t, dir, "call", "--personality", "default", "read_file", `{"path":"a.txt"}`)
	for to, want := range map[string]string{
		"ws/copy": "sallyport.yaml:7:5", "ws/a/b": "sallyport.yaml:7:5", "apart/link/copy": "personality default", "out/copy": "sallyport.yaml:8:", ".": "forged",
	} {
		code, said := tryHere(t, dir, "backup", to)
		if _, err := os.Lstat(filepath.Join(dir, to, "backup.json")); code != exitFailed || !strings.Contains(said, want) || !strings.Contains(said, "--force") || err == nil {
			t.Errorf("backup %s = %d %s, want a refusal with %q", to, code, said, want)
		}
	}
	for _, to := range []string{"apart/copy", ".sallyport/copy"} {
		if code, said := tryHere(t, dir, "backup", to); code != exitDone || strings.Contains(said, "warning") {
			t.Errorf("backup %s = %d %s", to, code, said)
		}
	}
	if code, said := tryHere(t, dir, "backup", "--force", "ws/copy"); code != exitDone || !strings.Contains(said, "warning: tools of personality default reach") {
		t.Errorf("backup --force = %d %s", code, said)
	}
}
