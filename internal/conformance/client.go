package conformance

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// clientFolder is where the suite keeps the checks of a scenario for clients:
// the folder of its group, then its name and the time.
var clientFolder = regexp.MustCompile(`^(.*)-\d{4}-\d\d-\d\dT[\d-]+Z/checks\.json$`)

// Client lets a version of the suite run a client, which is a command that takes
// the URL of a server as its last argument, in each of its scenarios, many at
// once. It returns the checks that the suite made.
func Client(t testing.TB, version, command string, args ...string) []Check {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), needs.Program(t, "npx"), append([]string{
		"-y", "-p", node, "-p", "@modelcontextprotocol/conformance@" + version,
		"conformance", "client", "--command", command, "-o", dir,
	}, args...)...)
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// The suite exits with an error while one check fails.
	failed := cmd.Run()
	checks, err := readClient(dir)
	if err != nil || len(checks) == 0 {
		t.Fatalf("the suite left %d checks, %v, %v:\n%s", len(checks), failed, err, &out)
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("%s", &out)
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
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []Check
		if err := json.Unmarshal(text, &checks); err != nil {
			return err
		}
		for i := range checks {
			checks[i].Scenario = name[1]
		}
		all = append(all, checks...)
		return nil
	})
	return all, err
}
