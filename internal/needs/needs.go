// Package needs says in tests what they need of the machine: which programs,
// and how much time.
package needs

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Long reports whether tests repeat what they do as often as they can. They do
// with SALLYPORT_TEST_LONG=1, which CI sets.
func Long() bool { return os.Getenv("SALLYPORT_TEST_LONG") == "1" }

// Count is how often a test repeats something: usually, or when tests may be
// long.
func Count(usual, long int) int {
	if Long() {
		return long
	}
	return usual
}

// LongRun skips a test that proves once more what others prove, such as the same
// for an ordinary user, unless tests may be long.
func LongRun(t testing.TB, what string) {
	t.Helper()
	if !Long() {
		t.Skip("SALLYPORT_TEST_LONG=1 runs " + what)
	}
}

// Toolchain skips a test that drives a whole compiler or package manager, which
// takes seconds, unless tests may be long.
func Toolchain(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("SALLYPORT_TEST_LONG=1 lets this test drive a whole toolchain")
	}
}

// NoRace skips a test under the race detector: it drives children, or does all its work in
// one goroutine, of which the detector sees nothing new, and takes many times as long.
// Where CI runs everything, it runs the test without the detector too.
func NoRace(t testing.TB) {
	t.Helper()
	if Race {
		t.Skip("the race detector sees nothing new here; without it the test runs")
	}
}

// NodeRoots returns the environment in which Node trusts the certificates of the
// machine, as the programs do that are started here.
func NodeRoots() []string {
	const roots = "/etc/ssl/certs/ca-certificates.crt"
	if _, err := os.Stat(roots); err != nil || os.Getenv("NODE_EXTRA_CA_CERTS") != "" {
		return os.Environ()
	}
	return append(os.Environ(), "NODE_EXTRA_CA_CERTS="+roots)
}

// Programs skips a test for want of a program on the fixed search path of
// children; with CI=true that is a failure.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if findOnFixedPath(name) == "" {
			skipOrFail(t, name)
		}
	}
}

// Program is where a program lies that a test starts itself: on the fixed
// search path, else on PATH. The order matters: PATH may put a version
// manager's script before the program, which does things of its own. It skips
// as Programs does.
func Program(t testing.TB, name string) string {
	t.Helper()
	if path := findOnFixedPath(name); path != "" {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		skipOrFail(t, name)
	}
	return path
}

func skipOrFail(t testing.TB, name string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
}

// findOnFixedPath returns where a program lies on the fixed search path, "" for
// nowhere.
func findOnFixedPath(name string) string {
	for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// NPM skips a test that fetches something from npm, unless SALLYPORT_TEST_NPX=1 lets
// it, which CI sets.
func NPM(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("SALLYPORT_TEST_NPX") != "1" {
		t.Skip("SALLYPORT_TEST_NPX=1 lets this test fetch " + what + " from npm")
	}
}

// Machines skips a test that drives an OCI runtime or the parser of AppArmor,
// unless SALLYPORT_TEST_MACHINES=1 says that they are there, which CI sets.
func Machines(t testing.TB) {
	t.Helper()
	if os.Getenv("SALLYPORT_TEST_MACHINES") != "1" {
		t.Skip("SALLYPORT_TEST_MACHINES is not set")
	}
}
