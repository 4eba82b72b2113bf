package app

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/config"
)

// What says who a caller is, and code that runs as it is, are out of the reach of tools.
func TestOwnPathsOfTheServer(t *testing.T) {
	t.Parallel()
	home, project := t.TempDir(), t.TempDir()
	env := &Environment{Home: home, Dir: project, Lookup: func(string) (string, bool) { return "", false }}
	rt := newRuntime(env, &config.Config{Dir: project, State: config.State{Path: filepath.Join(project, ".sallyport", "state.db")}, TLS: &config.TLS{Cert: "/p/cert", Key: "/p/key", ClientCA: "/p/clients"}})
	own := rt.ownFiles(project)
	for _, path := range []string{"/p/cert", "/p/key", "/p/clients"} {
		if !slices.Contains(own, path) {
			t.Errorf("%s is not among %q", path, own)
		}
	}
	folder := rt.translationFolder()
	if !strings.HasPrefix(folder, home) || !slices.ContainsFunc(own, func(p string) bool { return strings.HasSuffix(p, "/") && strings.HasPrefix(folder, p) }) {
		t.Errorf("translations are kept in %s, want the user's own folder, among %q", folder, own)
	}
}

func TestAPersonOfThePageCanBeStopped(t *testing.T) {
	t.Parallel()
	if err := CheckPrincipal(t.Context(), nil, "page:alice"); err != nil {
		t.Error(err)
	}
}
