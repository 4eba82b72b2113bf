package install_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/needs"
)

// server is a program with a library, which does what servers must not.
const server = `#!/usr/bin/env node
const fs = require('fs')
console.log(require('greet')('server'), process.argv.slice(2).join(' '))
const store = __dirname.split('/.sallyport/')[0] + '/.sallyport/'
for (const f of [__filename, __dirname + '/new', store + 'packages/new', store + 'new'])
  try { fs.writeFileSync(f, 'evil'); console.log('wrote', f) } catch (e) {}
try { fs.chmodSync(__filename, 0o777); console.log('changed the mode') } catch (e) {}
try { console.log('beside it:', fs.readdirSync(store + 'packages').length, fs.readdirSync(store)) } catch (e) {}
`

// good are packages with which nothing is wrong.
func good() map[string]published {
	return map[string]published{
		"@tests/server": {
			version: "1.2.3", files: map[string]string{"cli.js": server, "other.mjs": "console.log('other ran')\n"},
			manifest: map[string]any{
				"bin": map[string]string{"server": "./cli.js", "other": "other.mjs"}, "dependencies": map[string]string{"greet": "^1.0.0"},
				"devDependencies": map[string]string{"never": "1.0.0"},
				"scripts":         map[string]string{"postinstall": "touch installed; touch $HOME/package/installed", "install": "exit 1"},
			},
		},
		"greet": {
			version: "1.0.1", files: map[string]string{"index.js": "module.exports = n => 'hello, ' + n\n"},
			manifest: map[string]any{"scripts": map[string]string{"preinstall": "exit 1"}},
		},
	}
}

func TestInstallAndRun(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "npm", "node", "tar")
	n := newNPM(t, good())
	p := newPlace(t, n, nil)
	pkg, args, err := install.Parse([]string{"npx", "-y", "@tests/server@1.2.3", "--flag", "x"})
	if err != nil {
		t.Fatal(err)
	}
	i := p.install(pkg)
	if !strings.HasPrefix(i.Integrity, "sha512-") || len(i.Digest) != 64 {
		t.Errorf("installed %+v, want digests", i)
	}
	o := p.open(i)
	if o.Installed != i || o.Command[0] != "node" || filepath.Dir(o.Folder) != p.store.Dir() {
		t.Errorf("opened %+v, want node and the folder of the store", o)
	}
	out, said := p.run([]string{o.Folder}, append(o.Command, args...)...)
	if want := "hello, server --flag x\nbeside it: 1 [ 'packages' ]\n"; out != want {
		t.Errorf("the server said %q %q, want %q", out, said, want)
	}
	if out, said := p.run(nil, o.Command...); out != "" || !strings.Contains(said, "Cannot find module") {
		t.Errorf("without its grant the server said %q %q", out, said)
	}
	if again := p.open(i); !slices.Equal(again.Command, o.Command) {
		t.Errorf("after the run it is %+v", again)
	}
	for _, asked := range n.asked {
		if !strings.HasPrefix(asked, registryHost+"/") || strings.Contains(asked, "never") {
			t.Errorf("npm asked for %s", asked)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(o.Folder, "package", "installed")); found != nil {
		t.Error("a script was run")
	}
	other := parse(t, "npx", "-p", "@tests/server@1.2.3", "other")
	second := p.install(other)
	if second.Digest != i.Digest {
		t.Errorf("a second installation has the digest %s, the first %s", second.Digest, i.Digest)
	}
	if out, said := p.run([]string{o.Folder}, p.open(second).Command...); out != "other ran\n" {
		t.Errorf("the other program said %q %q", out, said)
	}
	if names := p.names(); len(names) != 1 {
		t.Errorf("the store holds %q, want one copy", names)
	}
}

// TestTheStoreIsClosedToTools: no tool reads or writes in it, whatever it may
// reach.
func TestTheStoreIsClosedToTools(t *testing.T) {
	t.Parallel()
	p := newPlace(t, newNPM(t, nil), nil)
	file := filepath.Join(p.store.Dir(), "x@1.0.0-000000000000", "file")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ := p.run(nil, "cat", file)
	if out != "" {
		t.Errorf("a child read %q", out)
	}
}

func TestPackagesThatAreRefused(t *testing.T) {
	needs.Programs(t, "npm", "node", "tar")
	main := map[string]string{"cli.js": "console.log('ran')\n"}
	bin := func(more map[string]any) map[string]any {
		m := map[string]any{"bin": "cli.js"}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	needsOne := func(spec string) map[string]any {
		return bin(map[string]any{"dependencies": map[string]string{"dep": spec}})
	}
	tests := []struct {
		name string
		p    published
		want string
	}{
		{"integrity", published{version: "1.0.0", files: main, manifest: bin(nil), integrity: "sha512-" + strings.Repeat("A", 86) + "=="}, "EINTEGRITY"},
		{"version", published{version: "2.0.0", files: main, manifest: bin(nil)}, "ETARGET"},
		{"git", published{version: "1.0.0", files: main, manifest: needsOne("git+https://example.org/a/b.git#main")}, "could not be installed"},
		{"github", published{version: "1.0.0", files: main, manifest: needsOne("a/b")}, "could not be installed"},
		{"tarball elsewhere", published{version: "1.0.0", files: main, manifest: needsOne("http://evil.example.com/x.tgz")}, "could not be installed"},
		{"file", published{version: "1.0.0", files: main, manifest: needsOne("file:../x")}, "is refused"},
		{"huge", published{version: "1.0.0", files: map[string]string{"cli.js": strings.Repeat("x", 2<<20)}, manifest: bin(nil)}, "is too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, newNPM(t, map[string]published{"pkg": tt.p}), &install.Options{MaxBytes: 1 << 20})
			res := p.gate(p.store.Tool(parse(t, "npx", "pkg@1.0.0")))
			if res.OK || res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, tt.want) {
				t.Errorf("Tool = %+v, want a failure with %q", res, tt.want)
			}
			if names := p.names(); len(names) != 0 {
				t.Errorf("the store holds %q, want nothing", names)
			}
		})
	}
}

// TestNamesInArchives has npm unpack what leads out. npm may leave it out, and
// then the rest is installed without it; nothing of it is seen outside.
func TestNamesInArchives(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "npm", "node", "tar")
	outside := filepath.Join(t.TempDir(), "outside")
	n := newNPM(t, map[string]published{"pkg": {
		version: "1.0.0", manifest: map[string]any{"bin": "cli.js"},
		files: map[string]string{
			"cli.js": "console.log('ran')\n", "../../../../evil": "evil", outside: "evil", "../../package.json": `{"evil":1}`,
			"link -> /etc/passwd": "", "up -> ../../..": "", "up/evil": "evil",
		},
	}})
	p := newPlace(t, n, nil)
	res := p.gate(p.store.Tool(parse(t, "npx", "pkg@1.0.0")))
	if _, err := os.Lstat(outside); err == nil {
		t.Error("an absolute name was written")
	}
	if !res.OK {
		t.Logf("refused: %s", res.Error)
		return
	}
	i, err := parse(t, "npx", "pkg@1.0.0").Installed(res)
	if err != nil {
		t.Fatal(err)
	}
	o := p.open(i)
	if out, said := p.run([]string{o.Folder}, o.Command...); out != "ran\n" {
		t.Errorf("the program said %q %q", out, said)
	}
	if found, _ := filepath.Glob(filepath.Join(p.dir, "*vil")); found != nil {
		t.Errorf("it wrote %q", found)
	}
}

func TestInstallationsAtOnceLeaveOneCopy(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "npm", "node", "tar")
	p := newPlace(t, newNPM(t, good()), nil)
	pkg := parse(t, "npx", "@tests/server@1.2.3")
	digests := make([]string, 3)
	var wg sync.WaitGroup
	for n := range digests {
		wg.Go(func() {
			i, err := pkg.Installed(p.gate(p.store.Tool(pkg)))
			if err != nil {
				t.Error(err)
			}
			digests[n] = i.Digest
		})
	}
	wg.Wait()
	if names := p.names(); len(names) != 1 || digests[0] != digests[1] || digests[1] != digests[2] {
		t.Errorf("the store holds %q with the digests %q, want one copy", names, digests)
	}
}

// TestAnInstallationThatIsGivenUp leaves nothing, nor does it go on.
func TestAnInstallationThatIsGivenUp(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "npm", "node", "tar")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := newPlace(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}), nil)
	if res := p.gateIn(ctx, p.store.Tool(parse(t, "npx", "pkg@1.0.0"))); res.OK {
		t.Errorf("Tool = %+v, want a failure", res)
	}
	if names := p.names(); len(names) != 0 {
		t.Errorf("the store holds %q, want nothing", names)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	p := newPlace(t, newNPM(t, good()), nil)
	for command, want := range map[string]string{
		"@tests/server": "1.2.3", "@tests/server@latest": "1.2.3", "@tests/server@next": "has no", "absent": "has no",
		"greet@^1.0.0": "is no tag",
	} {
		pkg, _, err := install.Parse([]string{"npx", command})
		if err == nil {
			t.Fatalf("Parse(%s) has a version", command)
		}
		got, err := pkg.Resolved(p.gate(p.store.Resolve(pkg)))
		if err == nil && got.Version != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%s) = %v, %v, want %q", command, got, err, want)
		}
	}
}

// TestResolveFitsNode: without a version the newest is taken that runs on the
// Node of this machine; a tag means its own version.
func TestResolveFitsNode(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "node")
	n := newNPM(t, map[string]published{"notes": {version: "2.0.0", manifest: map[string]any{"engines": map[string]string{"node": ">=999"}}}})
	n.docs["notes"]["versions"].(map[string]any)["1.5.0"] = map[string]any{"name": "notes", "version": "1.5.0"}
	p := newPlace(t, n, nil)
	for command, want := range map[string]string{"notes": "1.5.0", "notes@latest": "2.0.0"} {
		pkg, _, _ := install.Parse([]string{"npx", command})
		answer := p.gate(p.store.Resolve(pkg))
		if got, err := pkg.Resolved(answer); err != nil || got.Version != want {
			t.Errorf("Resolve(%s) = %v, %v, want %s", command, got, err, want)
		}
		if why := install.WhyVersion(answer); command == "notes" && !strings.HasSuffix(why, "2.0.0 needs Node >=999") {
			t.Errorf("Resolve(%s) says %q", command, why)
		}
	}
}

// TestAMachineWithoutTheProgram answers with its name.
func TestAMachineWithoutTheProgram(t *testing.T) {
	t.Parallel()
	p := newPlace(t, newNPM(t, nil), nil)
	p.backends.Process = nothingThere{}
	for want, command := range map[string][]string{"npm": {"npx", "a@1.2.3"}, "pip": {"uvx", "a==1.2.3"}} {
		res := p.gate(p.store.Tool(parse(t, command...)))
		if res.Code != sallyport.CodeNotAvailable || !strings.Contains(res.Error, want) {
			t.Errorf("Tool(%q) = %+v, want not_available with %s", command, res, want)
		}
	}
}

// nothingThere is a machine whose shell finds no program.
type nothingThere struct{}

func (nothingThere) Confines(*sallyport.Grant) (sallyport.Level, error) {
	return sallyport.LevelFull, nil
}

func (nothingThere) Start(context.Context, *sallyport.Spawn) (sallyport.Child, error) {
	return nothingThere{}, nil
}

func (nothingThere) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (nothingThere) Wait() (sallyport.ProcessResult, error) {
	return sallyport.ProcessResult{ExitCode: 127, Level: sallyport.LevelFull}, nil
}

func (nothingThere) Stop(time.Duration) {}
