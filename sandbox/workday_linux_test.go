package sandbox

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

// workday is one command of a working day and what it is to come to: refused
// names a text of its output, empty means that it works.
type workday struct {
	name, script string
	refused      string
}

// runDay runs the commands one after the other in a place.
func runDay(t *testing.T, w *workplace, env map[string]string, day []workday) {
	t.Helper()
	for _, d := range day {
		res := w.run(sallyport.SpawnOptions{Env: env}, "sh", "-c", d.script)
		out := string(res.Stdout) + string(res.Stderr)
		switch {
		case d.refused == "" && res.ExitCode != 0:
			t.Errorf("%s = exit %d, want it to work: %s", d.name, res.ExitCode, out)
		case d.refused != "" && (res.ExitCode == 0 || !strings.Contains(out, d.refused)):
			t.Errorf("%s = exit %d, %s; want it refused with %q", d.name, res.ExitCode, out, d.refused)
		}
	}
}

// TestA5_A20_AWorkingDayWithGit: each line of the table in docs/guides/children.md.
func TestA5_A20_AWorkingDayWithGit(t *testing.T) {
	t.Parallel()
	installed(t, "git")
	w := workspace(t, open(t, &Options{Warm: -1}))
	repositories(t, w)
	w.write("app/.vscode/settings.json", "{}\n")
	app := filepath.Join(w.dir, "app")
	for _, args := range [][]string{
		{"add", "."}, {"commit", "-q", "-m", "settings"}, {"checkout", "-q", "-b", "tuned"},
	} {
		hostGit(t, append([]string{"-C", app}, args...)...)
	}
	w.write("app/.vscode/settings.json", "{\"a\": 1}\n")
	hostGit(t, "-C", app, "commit", "-q", "-a", "-m", "tune")
	hostGit(t, "-C", app, "checkout", "-q", "main")
	w.write("app/README", "later\n")
	hostGit(t, "-C", app, "commit", "-q", "-a", "-m", "later")
	over := workspace(t, open(t, &Options{Warm: -1, Pending: filepath.Join(t.TempDir(), "pending")}))
	hostGit(t, "clone", "-q", "-b", "main", app, filepath.Join(over.dir, "app"))
	hostGit(t, "-C", filepath.Join(over.dir, "app"), "branch", "tuned", "origin/tuned")
	env := map[string]string{"GIT_CONFIG_NOSYSTEM": "1"}
	for name, value := range identity {
		env[name] = value
	}
	runDay(t, w, env, []workday{
		{"clone", "git clone -q bare.repo mine && cd mine && git log -1", ""},
		{"commit", "cd app && echo x > new && git add new && git commit -q -m new", ""},
		{"branch and merge", "cd app && git checkout -q -b side2 && echo y > y && git add y && git commit -q -m y && git checkout -q main && git merge -q side2", ""},
		{"rebase", "cd app && git checkout -q -b r HEAD~1 && echo z > z && git add z && git commit -q -m z && git rebase -q main && git checkout -q main", ""},
		{"stash", "cd app && echo w >> new && git stash -q && git stash pop -q && git checkout -q new", ""},
		{"push to a bare repository", "cd app && git push -q ../bare.repo HEAD:refs/heads/pushed", ""},
		{"gc", "cd app && git gc -q && git fsck", ""},
		{"commit in a worktree", "cd tree && echo t > t && git add t && git commit -q -m t", ""},
		{"worktree add", "cd app && git worktree add -q ../second -b second", ""},
		{"submodule update", "cd app && git submodule update", "config"},
		{"commit in a submodule", "cd app/deps/a/b/lib && echo s > s && git add s && git commit -q -m s", ""},
		{"record a submodule", "cd app && git add -A && git commit -q -m lib", ""},
		{"checkout across a project's configuration", "cd app && git checkout tuned; git diff --stat --exit-code", "unable to unlink old '.vscode/settings.json'"},
		{"go back", "cd app && git symbolic-ref HEAD refs/heads/main && git reset -q && git checkout -q -- .", ""},
		{"rebase across it", "cd app && git rebase main tuned", ".vscode/settings.json"},
		{"submodule add", "cd app && git -c protocol.file.allow=always submodule add ../lib more", "modules"},
		{"remote add", "cd app && git remote add o ../bare.repo", "config"},
		{"set upstream", "cd app && git branch -u side2 main; git config --get branch.main.merge", "config"},
		{"config", "cd app && git config core.fsmonitor evil", "config"},
		{"config of a bare repository", "git -C bare.repo config core.fsmonitor evil", "config"},
	})
	if out := hostGit(t, "-C", app, "config", "--list", "--local"); strings.Contains(out, "evil") {
		t.Errorf("the configuration of the host is %s", out)
	}

	over.grant.FS.Mode = sallyport.FSOverlay
	runDay(t, over, env, []workday{
		{"commit in an overlay", "cd app && echo x > new2 && git add new2 && git commit -q -m new2", ""},
		{"rebase across a project's configuration in an overlay", "cd app && git rebase -q main tuned && git checkout -q main", ""},
		{"a bare repository in an overlay", "git clone -q --bare app other && git -C other log -1", ""},
	})
	if out := hostGit(t, "-C", filepath.Join(over.dir, "app"), "log", "--format=%s", "-1", "tuned"); strings.TrimSpace(out) != "tune" {
		t.Errorf("after the rebase in an overlay tuned is %q", out)
	}
	for _, name := range []string{"config", "hooks"} {
		if _, err := os.Lstat(filepath.Join(over.dir, "other", name)); err == nil {
			t.Errorf("%s of a repository that a child made was carried over", name)
		}
	}
}

// TestA20_AWorkingDayWithGo builds and tests beside rows of the table.
func TestA20_AWorkingDayWithGo(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	installed(t, "go")
	w := workspace(t, open(t, &Options{Warm: -1, Toolchains: Toolchains(os.Getenv("HOME"))}))
	w.write("main.go", "package main\n\nfunc main() {}\n\nfunc Sum(a, b int) int { return a + b }\n")
	w.write("main_test.go", "package main\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n")
	w.write(".vscode/settings.json", "{}\n")
	runDay(t, w, map[string]string{"GOPROXY": "off"}, []workday{
		{"mod init", "go mod init example.org/day && go mod tidy", ""},
		{"build", "go build -o day .", ""},
		{"vet", "go vet .", ""},
		{"test", "go test .", ""},
		{"settings", "echo evil > .vscode/settings.json", "Read-only file system"},
	})
}

// TestA20_AWorkingDayWithCargo is the same for Rust.
func TestA20_AWorkingDayWithCargo(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	installed(t, "cargo")
	w := workspace(t, open(t, &Options{Warm: -1, Toolchains: Toolchains(os.Getenv("HOME"))}))
	w.write("day/Cargo.toml", "[package]\nname = \"day\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
	w.write("day/src/lib.rs", "pub fn sum(a: i32, b: i32) -> i32 { a + b }\n#[test]\nfn sums() { assert_eq!(sum(1, 2), 3) }\n")
	w.write("day/.cargo/config.toml", "[net]\noffline = true\n")
	// What was built lies in the write reach, and is run from there by the test.
	w.grant.Process.ExecFrom = []string{w.dir}
	runDay(t, w, nil, []workday{
		{"build", "cd day && cargo build -q", ""},
		{"test", "cd day && cargo test -q", ""},
		{"configuration", "echo evil > day/.cargo/config.toml", "Read-only file system"},
	})
}

// TestA20_AWorkingDayWithNpm installs from a folder, a tarball and a registry
// on loopback, twice, with packages that bring rows of the table along.
func TestA20_AWorkingDayWithNpm(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	installed(t, "npm", "node")
	net := newWorld()
	registry := httptest.NewServer(npmRegistry(t))
	t.Cleanup(registry.Close)
	net.serveName("registry.example.org", 80, registry.URL)
	w := workspace(t, open(t, &Options{Warm: -1, Network: net.backend()}), "registry.example.org")
	w.write("local/package.json", `{"name": "local", "version": "1.0.0", "main": "i.js"}`)
	w.write("local/i.js", "module.exports = 1\n")
	w.write("tar.tgz", packed(t, map[string]string{
		"package.json": `{"name": "packed", "version": "1.0.0", "main": "i.js"}`, "i.js": "module.exports = 2\n",
		".vscode/settings.json": "{}\n", ".idea/x.xml": "<x/>\n", ".husky/pre-commit": "true\n", ".envrc": "true\n",
	}))
	w.write("app/package.json", `{"name": "app", "version": "1.0.0", "private": true, "scripts": {"build": "node -p 1", "test": "node -p \"require('packed')\""}}`)
	w.write("app/.npmrc", "fund=false\naudit=false\n")
	env := map[string]string{"npm_config_registry": "http://registry.example.org/", "npm_config_update_notifier": "false"}
	runDay(t, w, env, []workday{
		{"install a folder", "cd app && npm install ../local", ""},
		{"install a tarball", "cd app && npm install ../tar.tgz", ""},
		{"install from a registry", "cd app && npm install greet", ""},
		{"install again", "cd app && rm -rf node_modules && npm install", ""},
		{"ci", "cd app && npm ci", ""},
		{"build", "cd app && npm run build", ""},
		{"test", "cd app && npm test", ""},
		{"set a configuration", "cd app && npm config set script-shell /tmp/evil --location=project", ".npmrc"},
	})
}

// packed is a tarball of npm.
func packed(t *testing.T, files map[string]string) string {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for name, body := range files {
		if err := archive.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(archive, body)
	}
	archive.Close()
	zipped.Close()
	return out.String()
}
