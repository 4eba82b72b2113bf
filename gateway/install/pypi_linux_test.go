package install_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/needs"
)

// needsPip skips a test where the system's Python has no pip.
func needsPip(t testing.TB) {
	t.Helper()
	needs.Programs(t, "python3", "tar")
	if err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-I", "-m", "pip", "--version").Run(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("pip is not installed")
		}
		t.Skip("pip is not installed")
	}
}

// wheel is a distribution with a module and what its metadata says more.
func wheel(t testing.TB, name, metadata string, files map[string]string) []byte {
	t.Helper()
	info := name + "-1.0.0.dist-info/"
	all := map[string]string{
		info + "METADATA": "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0.0\n" + metadata,
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
	}
	for file, text := range files {
		all[strings.ReplaceAll(file, "INFO/", info)] = text
	}
	record := info + "RECORD,,\n"
	for file := range all {
		record += file + ",,\n"
	}
	all[info+"RECORD"] = record
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for file, text := range all {
		f, err := w.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(f, text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pypi is an index of wheels by name.
type pypi map[string][]byte

func (p pypi) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if name, ok := strings.CutPrefix(r.URL.Path, "/simple/"); ok {
		name = strings.TrimSuffix(name, "/")
		if data, ok := p[name]; ok {
			file := strings.ReplaceAll(name, "-", "_") + "-1.0.0-py3-none-any.whl"
			fmt.Fprintf(w, "<a href=\"/files/%s#sha256=%x\">%s</a>", file, sha256.Sum256(data), file)
			return
		}
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/pypi/"); ok && p[strings.TrimSuffix(name, "/json")] != nil {
		fmt.Fprintf(w, `{"info":{"name":%q,"version":"1.0.0"},"releases":{}}`, strings.TrimSuffix(name, "/json"))
		return
	}
	if file, ok := strings.CutPrefix(r.URL.Path, "/files/"); ok {
		name, _, _ := strings.Cut(file, "-")
		_, _ = w.Write(p[strings.ReplaceAll(name, "_", "-")])
		return
	}
	http.NotFound(w, r)
}

func pypiPlace(t testing.TB, p pypi) *gatedStore {
	t.Helper()
	return newPlace(t, p, &install.Options{
		PyPI: "http://" + registryHost + "/simple", PyPIFiles: "http://" + registryHost + "/files",
	})
}

func TestInstallAndRunPython(t *testing.T) {
	t.Parallel()
	needsPip(t)
	p := pypiPlace(t, pypi{
		"time-server": wheel(t, "Time_Server", "Requires-Dist: greet-py>=1\n", map[string]string{
			"time_server.py":        "import os, sys, greet_py\nclass App:\n  def main():\n    print(greet_py.hello(), sys.argv)\n    os.chmod(__file__, 0o777)\n",
			"INFO/entry_points.txt": "[gui_scripts]\nx = y:z\n[console_scripts]\n# none\ntime-server = time_server:App.main\n",
		}),
		"greet-py": wheel(t, "greet_py", "", map[string]string{"greet_py/__init__.py": "def hello(): return 'hello'\n"}),
	})
	pkg, args, err := install.Parse([]string{"uvx", "time_server==1.0.0", "--x"})
	if err != nil {
		t.Fatal(err)
	}
	i := p.install(pkg)
	o := p.open(i)
	if !strings.HasPrefix(i.Integrity, "sha256-") || o.Installed != i {
		t.Errorf("installed %+v, opened %+v", i, o)
	}
	out, said := p.run([]string{o.Folder}, append(o.Command, args...)...)
	if out != "hello ['time-server', '--x']\n" || !strings.Contains(said, "Read-only file system") {
		t.Errorf("the server said %q %q", out, said)
	}
	if again := p.install(pkg); again != i {
		t.Errorf("a second installation is %+v, the first %+v", again, i)
	}
	i.Package.Bin = "absent"
	if _, err := p.store.Open(i.Package, i.Digest); err == nil || !strings.Contains(err.Error(), "has no program") {
		t.Errorf("Open of a program that is absent = %v", err)
	}
}

func TestPythonPackagesThatAreRefused(t *testing.T) {
	t.Parallel()
	needsPip(t)
	direct := "Requires-Dist: b @ http://" + registryHost + "/files/b-1.0.0-py3-none-any.whl\n"
	for name, tt := range map[string]struct {
		index pypi
		want  string
	}{
		"absent":    {pypi{}, "No matching distribution"},
		"elsewhere": {pypi{"a": wheel(t, "a", "Requires-Dist: b @ http://evil.example.com/b-1.0.0-py3-none-any.whl\n", nil)}, "Forbidden"},
		"git":       {pypi{"a": wheel(t, "a", "Requires-Dist: b @ git+https://example.org/b\n", nil)}, "could not be installed"},
		"direct":    {pypi{"a": wheel(t, "a", direct, nil), "b": wheel(t, "b", "", nil)}, "is asked for by its URL"},
	} {
		if name != "direct" && !needs.Long() {
			continue // pip takes seconds
		}
		p := pypiPlace(t, tt.index)
		res := p.gate(p.store.Tool(parse(t, "pipx", "run", "a==1.0.0")))
		if res.OK || res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, tt.want) {
			t.Errorf("%s: Tool = %+v, want a failure with %q", name, res, tt.want)
		}
		if names := p.names(); len(names) != 0 {
			t.Errorf("%s: the store holds %q, want nothing", name, names)
		}
	}
}

func TestResolvePython(t *testing.T) {
	t.Parallel()
	p := pypiPlace(t, pypi{"a": {}})
	for command, want := range map[string]string{"a": "1.0.0", "a@latest": "1.0.0", "b": "has no b@latest", "a>=1": "is no tag", "a@next": "is no tag"} {
		pkg, _, err := install.Parse([]string{"uvx", command})
		if err == nil {
			t.Fatalf("Parse(%s) has a version", command)
		}
		got, err := pkg.Resolved(p.gate(p.store.Resolve(pkg)))
		if err == nil && got.Version != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Resolve(%s) = %v, %v, want %q", command, got, err, want)
		}
	}
}
