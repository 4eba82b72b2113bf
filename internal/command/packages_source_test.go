package command

import (
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
		dir := configured(t, "version: 1\npackages: "+packages+"\npersonalities: {default: {toolset: []}}\n")
		env, _ := inFolder(t, dir)
		rt, err := openGate(t.Context(), env, &flags{})
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
