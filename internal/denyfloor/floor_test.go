package denyfloor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

func TestFloorCheck(t *testing.T) {
	d := New(&sallyport.FileBackend{
		Home: "/srv/agents/Ann",
		Deny: []string{"/srv/state/state.db", "/srv/state/keys/"},
	})
	const home = "/srv/agents/Ann"
	type want struct{ read, write bool } // true: denied
	both, none, writes := want{true, true}, want{}, want{write: true}
	tests := []struct {
		name, path string
		want       want
	}{
		{"ssh key", home + "/.ssh/id_ed25519", both},
		{"ssh directory itself", home + "/.ssh", both},
		{"ssh in another case", home + "/.SSH/id_rsa", both},
		{"ssh below a folder", home + "/p/.ssh/id_rsa", both},
		{"ssh outside any home", "/data/.ssh/config", both},
		{"key that lies about", "/data/backup/id_rsa", both},
		{"public key", "/data/backup/id_rsa.pub", none},
		{"gnupg", home + "/.gnupg/secring.gpg", both},
		{"aws", home + "/.aws/config", both},
		{"aws of a project", "/data/repo/.aws/task-definition.json", none},
		{"aws credentials anywhere", "/data/repo/.aws/credentials", both},
		{"azure", home + "/.azure/accessTokens.json", both},
		{"gcloud", home + "/.config/gcloud/credentials.db", both},
		{"github", home + "/.config/gh/hosts.yml", both},
		{"docker login", home + "/.docker/config.json", both},
		{"docker folder of a project", "/data/repo/.docker/Dockerfile", none},
		{"kube", home + "/.kube/config", both},
		{"netrc", "/home/bob/.netrc", both},
		{"pgpass", "/Users/bob/.pgpass", both},
		{"git credentials", home + "/.git-credentials", both},
		{"npm token", home + "/.npmrc", both},
		{"npm settings of a project", home + "/repo/.npmrc", writes},
		{"pypi token", home + "/.pypirc", both},
		{"cargo token", home + "/.cargo/credentials.toml", both},
		{"cargo cache", home + "/.cargo/registry/index", none},
		{"chrome", home + "/.config/google-chrome/Default/Cookies", both},
		{"chrome beta", home + "/.config/google-chrome-beta/Default/Cookies", both},
		{"firefox", home + "/.mozilla/firefox/x/logins.json", both},
		{"keychain", home + "/Library/Keychains/login.keychain-db", both},
		{"keyring", home + "/.local/share/keyrings/login.keyring", both},
		{"pass", home + "/.password-store/a.gpg", both},
		{"keys of an unknown program", home + "/.someagent/keys.json", both},
		{"secrets of an unknown program", home + "/.someagent/secrets/x", both},
		{"bash history", home + "/.bash_history", both},
		{"python history", home + "/.python_history", both},
		{"fish history", home + "/.local/share/fish/fish_history", both},
		{"passwd", "/etc/passwd", both},
		{"passwd backup", "/etc/passwd-", both},
		{"a file that begins like passwd", "/etc/passwd.d/x", none},
		{"shadow", "/etc/shadow-", both},
		{"sudoers", "/etc/sudoers", both},
		{"sudoers directory", "/etc/sudoers.d/x", both},
		{"host key", "/etc/ssh/ssh_host_rsa_key", both},
		{"host key, public", "/etc/ssh/ssh_host_rsa_key.pub", writes},
		{"hostname", "/etc/hostname", none},
		{"root's home", "/root/notes.txt", both},
		{"a name that begins with root", "/rootless/x", none},
		{"boot", "/boot/grub/grub.cfg", both},
		{"sys", "/sys/kernel/x", both},
		{"device", "/dev/null", both},
		{"a folder called dev", "/data/dev/x", none},
		{"own environ", "/proc/self/environ", both},
		{"environ by number", "/proc/4242/environ", both},
		{"environ of a thread", "/proc/self/task/77/environ", both},
		{"thread-self", "/proc/thread-self/root/etc", both},
		{"kernel settings", "/proc/sys/kernel/core_pattern", both},
		{"kernel memory", "/proc/kcore", both},
		{"cpuinfo", "/proc/cpuinfo", writes},
		{"docker socket", "/var/run/docker.sock", both},
		{"docker socket, run", "/run/docker.sock", both},
		{"service tokens", "/run/secrets/kubernetes.io/serviceaccount/token", both},
		{"own state", "/srv/state/state.db", both},
		{"own state's log", "/srv/state/state.db-wal", both},
		{"own state's record", "/srv/state/state.db-log", both},
		{"a segment of own state's record", "/srv/state/state.db-log/00000001", both},
		{"own state's record that is being made", "/srv/state/state.db-log.new/base", both},
		{"own state's memory", "/srv/state/state.db-shm", both},
		{"own state's journal", "/srv/state/state.db-journal", both},
		{"own state's temporary", "/srv/state/state.db.tmp123", both},
		{"own state's hidden temporary", "/srv/state/.state.db.tmp123", both},
		{"below own directory", "/srv/state/keys/audit.key", both},
		{"beside own state", "/srv/state/state.db2", none},
		{"a name that begins like own directory", "/srv/state/keys2/x", none},
		{"hooks", home + "/proj/.git/hooks/pre-commit", writes},
		{"repository configuration", home + "/proj/.git/config", writes},
		{"submodule configuration", home + "/proj/.git/modules/a/b/config", writes},
		{"repository head", home + "/proj/.git/HEAD", none},
		{"a name that begins like config", home + "/proj/.git/config.lock.txt", none},
		{"gitignore", home + "/proj/.gitignore", none},
		{"profile", home + "/.profile", writes},
		{"bashrc", home + "/.bashrc", writes},
		{"bashrc in a folder", home + "/dotfiles/.bashrc", none},
		{"gitconfig", home + "/.gitconfig", writes},
		{"user service", home + "/.config/systemd/user/x.service", writes},
		{"autostart", home + "/.config/autostart/x.desktop", writes},
		{"launch agent", home + "/Library/LaunchAgents/x.plist", writes},
		{"crontab", "/var/spool/cron/crontabs/ann", writes},
		{"planted binary", home + "/.local/bin/git", writes},
		{"editor tasks", home + "/proj/.vscode/tasks.json", writes},
		{"client servers", home + "/proj/.mcp.json", writes},
		{"resembles env", home + "/proj/environment.txt", none},
		{"resembles ssh", home + "/proj/.ssh-notes.md", none},
		{"env example", home + "/proj/.env.example", none},
		{"env", home + "/proj/.env", none},
		{"netrc notes", home + "/proj/netrc.md", none},
		{"history of a project", home + "/proj/HISTORY.md", none},
		{"aws in a name", home + "/proj/aws/credentials.md", none},
		{"secrets in a name", home + "/proj/secrets.go", none},
		{"workspace", home + "/proj/main.go", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reason, read := d.Check(opRead, tt.path)
			_, write := d.Check(opWrite, tt.path)
			if got := (want{read, write}); got != tt.want {
				t.Errorf("Check(%q) = %+v, want %+v (%s)", tt.path, got, tt.want, reason)
			}
		})
	}
}

func TestFloorOpensTheHomeOfItsOwnUserOnly(t *testing.T) {
	own := New(&sallyport.FileBackend{Home: "/root"})
	if reason, denied := own.Check(opRead, "/root/notes.txt"); denied {
		t.Errorf("Check of a file in one's own home = %q, want allowed", reason)
	}
	if _, denied := own.Check(opRead, "/root/.ssh/id_rsa"); !denied {
		t.Error("Check of a key in one's own home = allowed, want denied")
	}
	other := New(&sallyport.FileBackend{Home: "/home/ann"})
	if _, denied := other.Check(opRead, "/root/notes.txt"); !denied {
		t.Error("Check of a file in the administrator's home = allowed, want denied")
	}
}

func TestFloorTakesRelativePathsFromTheProcessFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	d := New(&sallyport.FileBackend{Deny: []string{"state.db", ""}})
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if _, denied := d.Check(opRead, filepath.Join(wd, "state.db")); !denied {
		t.Error("Check of a relative Deny path = allowed, want denied")
	}
	if _, denied := d.Check(opRead, filepath.Join(wd, "other")); denied {
		t.Error("Check beside a relative Deny path = denied, want allowed")
	}
	if got := d.Own(); len(got) == 0 || !filepath.IsAbs(got[0]) {
		t.Errorf("Own() = %q, want absolute paths", got)
	}
}

// linkedDir makes a directory "real" and a link to it, and returns where both
// lie.
func linkedDir(t *testing.T, link string) string {
	t.Helper()
	dir := realPath(t.TempDir())
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFloorKnowsOwnFilesBehindLinks(t *testing.T) {
	dir := linkedDir(t, "link")
	d := New(&sallyport.FileBackend{Deny: []string{filepath.Join(dir, "link", "state.db")}})
	if _, denied := d.Check(opRead, filepath.Join(dir, "real", "state.db-wal")); !denied {
		t.Error("Check of the own file by its real path = allowed, want denied")
	}
}

func TestFloorTableIsWellFormed(t *testing.T) {
	rules := Rules()
	seen := make(map[Rule]bool)
	for _, r := range rules {
		switch {
		case seen[r]:
			t.Errorf("rule %q is there twice", r.Path)
		case r.Reason == "" || r.Path != strings.ToLower(r.Path) || strings.HasSuffix(r.Path, "/"):
			t.Errorf("rule %+v: want a reason, lower case and no slash at the end", r)
		case !strings.HasPrefix(r.Path, "/") && !strings.HasPrefix(r.Path, "~/") && !strings.HasPrefix(r.Path, "**/") && !strings.HasPrefix(r.Path, inRepository):
			t.Errorf("rule %q begins at no known place", r.Path)
		}
		seen[r] = true
		if first := strings.TrimPrefix(strings.TrimPrefix(r.Path, "~"), "/"); first[0] == '*' && !strings.HasPrefix(first, "**/") {
			t.Errorf("rule %q begins with a star, which the index does not expect", r.Path)
		}
		if first, ok := strings.CutPrefix(r.Path, "**/*"); ok && (first == "" || strings.ContainsAny(first, "*/")) {
			t.Errorf("rule %q is no ending of a name", r.Path)
		}
		if r.Source == "" || r.Class == "" {
			t.Errorf("rule %q has class %q and source %q, want both", r.Path, r.Class, r.Source)
		}
		for e := range strings.SplitSeq(strings.TrimPrefix(r.Path, "**/"), "/") {
			if strings.Count(e, "*") > 1 {
				t.Errorf("rule %q has two stars in one element", r.Path)
			}
		}
	}
	if len(rules) < 400 {
		t.Errorf("Rules() has %d rules, want the whole table", len(rules))
	}
}

func TestFoldsOfOtherSystems(t *testing.T) {
	for in, want := range map[string]string{
		`/Users/a/.ssh/id_rsa`: "/Users/a/.ssh/id_rsa", "/Users/a/.ssh. /id_rsa::$DATA": "/Users/a/.ssh/id_rsa", "": "/",
	} {
		if got := foldWindows(in); got != want {
			t.Errorf("foldWindows(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{"/private/etc/passwd": "/etc/passwd", "/privates/x": "/privates/x", "/a/b": "/a/b"} {
		if got := stripPrivate(in); got != want {
			t.Errorf("stripPrivate(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFloorFollowsTheHomeOfTheProcess(t *testing.T) {
	dir := linkedDir(t, "home")
	t.Setenv("HOME", filepath.Join(dir, "home"))
	d := New(nil)
	for _, p := range []string{"home/.npmrc", "real/.npmrc"} {
		if _, denied := d.Check(opRead, filepath.Join(dir, p)); !denied {
			t.Errorf("Check(%q) = allowed, want denied", p)
		}
	}
	if _, denied := d.Check(opRead, ""); !denied {
		t.Error("Check of an empty path = allowed, want denied")
	}
	if _, denied := d.Check("execute", filepath.Join(dir, "home/.bashrc")); !denied {
		t.Error("Check of an unknown operation = allowed, want it judged like a write")
	}
}

func FuzzFloorCheck(f *testing.F) {
	for _, s := range []string{"/root/.ssh/x", "/etc/passwd", "/home/a/.bashrc", "/a/.git/hooks/x", "/proc/1/mem", "/srv/own/x-wal"} {
		f.Add(s, "child")
	}
	d := New(&sallyport.FileBackend{Home: "/home/a", Deny: []string{"/srv/own/x"}})
	f.Fuzz(func(t *testing.T, p, child string) {
		p = filepath.Clean("/" + p)
		if strings.ContainsAny(child, "/\x00") || child == "" || child == "." || child == ".." {
			child = "x"
		}
		below := filepath.Join(p, child)
		for _, op := range []string{opRead, opWrite} {
			if _, denied := d.Check(op, p); !denied {
				continue
			}
			if _, denied := d.Check(op, below); !denied {
				t.Errorf("Check(%s) denies %q and allows %q below it", op, p, below)
			}
		}
		if _, read := d.Check(opRead, p); read {
			if _, write := d.Check(opWrite, p); !write {
				t.Errorf("Check denies reading %q and allows writing it", p)
			}
		}
	})
}

func BenchmarkFloorCheck(b *testing.B) {
	d := New(&sallyport.FileBackend{Home: "/home/a", Deny: []string{"/home/a/p/sallyport.yaml", "/home/a/p/.sallyport"}})
	b.ReportAllocs()
	for b.Loop() {
		d.Check(opRead, "/home/a/p/docs/guide/readme.md")
	}
}

// TestInstalledPackagesStayOnTheFloor: who may be shown one is another
// question.
func TestInstalledPackagesStayOnTheFloor(t *testing.T) {
	store, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := New(&sallyport.FileBackend{Home: "/home/u", Packages: store})
	for name, want := range map[string]bool{
		"": false, "a": true, "@s+b@1.0.0-0123": true, ".stage-1": false, "a/b": false, "..": false, "../a": false,
	} {
		path := filepath.Join(store, name)
		if got := d.Package(path); got != want {
			t.Errorf("Package(%q) = %v, want %v", path, got, want)
		}
		for _, op := range []string{opRead, opWrite} {
			if _, denied := d.Check(op, path); !denied && !strings.HasPrefix(name, "..") {
				t.Errorf("Check(%s, %q) lets it through", op, path)
			}
		}
	}
	if New(nil).Package("/a") || New(nil).Package("a") {
		t.Error("a floor without packages has one")
	}
}
