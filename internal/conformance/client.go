package conformance

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"testing"
)

// clientFolder is where the suite keeps the checks of a scenario for clients:
// the folder of its group, then its name and the time.
var clientFolder = regexp.MustCompile(`^(.*)-\d{4}-\d\d-\d\dT[\d-]+Z/checks\.json$`)

// Client lets a version of the suite run a client, which is a command that takes
// the URL of a server as its last argument, in each of its scenarios, many at
// once. It returns the checks that the suite made.
func Client(t testing.TB, version, command string, args ...string) []Check {
	t.Helper()
	checks, out := runSuite(t, version, readClient, append([]string{"client", "--command", command}, args...))
	if t.Failed() || testing.Verbose() {
		t.Log(out)
	}
	return checks
}

func readClient(dir string) (all []Check, err error) {
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		below, _ := filepath.Rel(dir, path)
		name := clientFolder.FindStringSubmatch(filepath.ToSlash(below))
		if err != nil || name == nil {
			return err
		}
		checks, err := readScenario(path, name[1])
		all = append(all, checks...)
		return err
	})
	return all, err
}
