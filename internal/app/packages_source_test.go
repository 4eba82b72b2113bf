package app

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWhereFilesOfAnIndexLie checks the host of a package index's files: the
// host of the index itself, unless the configuration names another one.
func TestWhereFilesOfAnIndexLie(t *testing.T) {
	t.Parallel()
	for packages, want := range map[string][]string{
		`{}`: {"registry.npmjs.org", "pypi.org", "files.pythonhosted.org"},
		`{pypi: "https://pypi.example.com/simple/"}`:                                                {"registry.npmjs.org", "pypi.example.com", "pypi.example.com"},
		`{pypi: "https://pypi.example.com/simple/", pypi_files: "https://files.example.com/"}`:      {"registry.npmjs.org", "pypi.example.com", "files.example.com"},
		`{npm: "https://npm.example.com:8443/all", pypi_files: "https://mirror.example.com/files"}`: {"npm.example.com:8443", "pypi.org", "mirror.example.com"},
	} {
		rt, err := OpenForCalls(t.Context(), newEnvironment(t, "version: 1\npackages: "+packages+"\npersonalities: {default: {toolset: []}}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := rt.Packages.Hosts(); !slices.Equal(got, want) {
			t.Errorf("%s: installations may reach %q, want %q", packages, got, want)
		}
		if role := rt.installRole(); role.ceiling.Network.AllowPrivate || !slices.Equal(role.ceiling.Network.Allow, want) {
			t.Errorf("%s: the ceiling of installations is %+v", packages, role.ceiling.Network)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
}

// newEnvironment returns an environment whose working folder holds a
// configuration.
func newEnvironment(t *testing.T, configuration string) *Environment {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ConfigName), []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Environment{
		Stderr: io.Discard, Dir: dir, Home: dir,
		Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
	}
}
