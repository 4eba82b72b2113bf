package app

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sallyport/sallyport/gateway/install"
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
		if ceiling := rt.newInstaller(rt.InForce()).ceiling; ceiling.AllowPrivate || ceiling.AnyAddress || !slices.Equal(ceiling.Allow, want) {
			t.Errorf("%s: the ceiling of installations is %+v", packages, ceiling)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOnlyOwnRegistriesHaveAnyAddress checks for which registries an installation
// may reach unusual addresses: the public ones and those that the user has set for
// npm, and not for one that only the configuration names.
func TestOnlyOwnRegistriesHaveAnyAddress(t *testing.T) {
	t.Parallel()
	for packages, want := range map[string]map[install.Registry]bool{
		`{}`:                                  {install.NPM: true, install.PyPI: true},
		`{npm: "https://npm.example.com/"}`:   {install.NPM: true, install.PyPI: true},
		`{npm: "https://other.example.com/"}`: {install.NPM: false, install.PyPI: true},
		`{pypi: "https://npm.example.com/simple/", pypi_files: "https://files.example.com/"}`: {install.NPM: true, install.PyPI: false},
	} {
		env := newEnvironment(t, "version: 1\npackages: "+packages+"\npersonalities: {default: {toolset: []}}\n")
		if err := os.WriteFile(filepath.Join(env.Home, ".npmrc"), []byte("registry=https://npm.example.com/"), 0o600); err != nil {
			t.Fatal(err)
		}
		rt, err := OpenForCalls(t.Context(), env, nil)
		if err != nil {
			t.Fatal(err)
		}
		i := rt.newInstaller(rt.InForce())
		for registry, any := range want {
			tool := rt.Packages.Tool(install.Package{Registry: registry, Name: "x", Version: "1.2.3"})
			if role, _ := i.roleFor(&tool).Personality(installing); role.Network.AnyAddress != any {
				t.Errorf("%s, %s: AnyAddress = %v, want %v", packages, registry, role.Network.AnyAddress, any)
			}
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
