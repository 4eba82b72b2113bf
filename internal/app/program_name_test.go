package app

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheProgramIsNamedAsAUserStartsIt: a hint names a command that starts this program.
func TestTheProgramIsNamedAsAUserStartsIt(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	installed, other, spaced := file("bin/sallyport", "x"), file("other/sallyport", "y"), file("a b/sallyport", "z")
	built := file("tmp/go-build1/b001/exe/sallyport", "w")
	file("module/go.mod", "module github.com/sallyport/sallyport\n")
	file("module/cmd/sallyport/main.go", "package main\n")
	file("elsewhere/go.mod", "module github.com/sallyport/sallyport2\n")
	module, source := filepath.Join(dir, "module"), "github.com/sallyport/sallyport/cmd/sallyport"
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	for name, c := range map[string]struct{ arg0, exe, source, dir, want string }{
		"found by its name":           {"sallyport", installed, source, dir, "sallyport"},
		"found by its path":           {installed, installed, source, dir, "sallyport"},
		"another one is found":        {"./sallyport", other, source, dir, other},
		"a path that needs quotes":    {"./sallyport", spaced, source, dir, "'" + spaced + "'"},
		"go run in its module":        {built, built, source, module, "go run ./cmd/sallyport"},
		"go run of the module":        {built, built, "github.com/sallyport/sallyport", module, "go run ."},
		"go run elsewhere":            {built, built, source, filepath.Join(dir, "elsewhere"), built},
		"go run without a module":     {built, built, source, dir, built},
		"go run of a file":            {built, built, "command-line-arguments", module, built},
		"a package that is not there": {built, built, "github.com/sallyport/sallyport/cmd/gone", module, built},
	} {
		if got := nameProgram(c.arg0, c.exe, c.source, c.dir); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestANameThatATerminalDoesNotShowIsInNoHint: the file may be another party's.
func TestANameThatATerminalDoesNotShowIsInNoHint(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"'/a b/gäte'": "'/a b/gäte'", "./gate": "./gate",
		"'/a\x1b[2Jb'": "sallyport", "'/a\nb'": "sallyport", "'/a\u202eb'": "sallyport", "'/a\u009bb'": "sallyport", "'/a\xffb'": "sallyport",
	} {
		if got := printableName(name); got != want {
			t.Errorf("%q is named %q, want %q", name, got, want)
		}
	}
}
