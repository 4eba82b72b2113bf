// Package needs says in tests which programs of the machine they run.
package needs

import (
	"os"
	"path/filepath"
	"testing"
)

// Programs skips a test for want of a program on the fixed search path of
// children; with CI=true that is a failure.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		Program(t, name)
	}
}

// Program is where one program lies on the fixed search path of children: the
// program, and not a version manager's script, which PATH may put before it.
// It skips as Programs does.
func Program(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}
