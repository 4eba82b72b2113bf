package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// node is the Node.js that the suite wants.
const node = "node@22"

// Check is one that the suite made.
type Check struct {
	// Scenario is what the check belongs to.
	Scenario string `json:"-"`
	// ID names it.
	ID string `json:"id"`
	// Status is SUCCESS, FAILURE, WARNING, INFO or SKIPPED.
	Status string `json:"status"`
	// Error says what was wrong; empty when nothing was.
	Error string `json:"errorMessage"`
}

// Need skips a test unless it may fetch the suite from npm.
func Need(t testing.TB) {
	t.Helper()
	needs.NPM(t, "the conformance suite")
	needs.Program(t, "npx")
}

// Serve lets a version of the suite, such as 0.1.16, loose on a server and
// returns the checks that it made. The arguments choose the scenarios.
func Serve(t testing.TB, version, url string, args ...string) []Check {
	t.Helper()
	checks, _ := runSuite(t, version, readChecks, append([]string{"server", "--url", url}, args...))
	return checks
}

// runSuite runs the suite and returns the checks that read finds in the folder of
// its results, and what it printed.
func runSuite(t testing.TB, version string, read func(dir string) ([]Check, error), args []string) ([]Check, string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), needs.Program(t, "npx"), slices.Concat([]string{
		"-y", "-p", node, "-p", "@modelcontextprotocol/conformance@" + version, "conformance",
	}, args, []string{"-o", dir})...)
	cmd.Dir = dir
	// The suite exits with an error while one check fails.
	out, failed := cmd.CombinedOutput()
	checks, err := read(dir)
	if err != nil || len(checks) == 0 {
		t.Fatalf("the suite left %d checks, %v, %v:\n%s", len(checks), failed, err, out)
	}
	return checks, string(out)
}

// folder is where the suite keeps the checks of a scenario.
var folder = regexp.MustCompile(`^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

func readChecks(dir string) ([]Check, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	var all []Check
	for _, path := range paths {
		name := folder.FindStringSubmatch(filepath.Base(filepath.Dir(path)))
		if name == nil {
			return nil, fmt.Errorf("%s is the folder of no scenario", path)
		}
		checks, err := readScenario(path, name[1])
		if err != nil {
			return nil, err
		}
		all = append(all, checks...)
	}
	return all, nil
}

// readScenario reads the checks of one scenario.
func readScenario(path, name string) (checks []Check, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &checks); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range checks {
		checks[i].Scenario = name
	}
	return checks, nil
}

// Judge fails a test for every check that failed, and for each scenario of want
// without one that succeeded. Beside says which scenarios, and which checks as
// scenario/check, are about what is not offered, and why; a name that does not
// fail any more is a fault as well.
func Judge(t testing.TB, checks []Check, want []string, beside map[string]string) {
	t.Helper()
	good, idle := map[string]bool{}, map[string]bool{}
	for name := range beside {
		idle[name] = true
	}
	for _, c := range checks {
		one := c.Scenario + "/" + c.ID
		switch {
		case c.Status == "SUCCESS" || c.Status == "INFO":
			good[c.Scenario] = true
		case c.Status != "FAILURE":
		case beside[one] != "":
			delete(idle, one)
		case beside[c.Scenario] != "":
			delete(idle, c.Scenario)
		default:
			t.Errorf("%s failed: %s", one, c.Error)
		}
	}
	for _, name := range want {
		if !good[name] {
			t.Errorf("%s made no check that succeeded: the suite has another name for it, or it did not run", name)
		}
	}
	for name := range idle {
		if slices.ContainsFunc(checks, func(c Check) bool { return strings.HasPrefix(name+"/", c.Scenario+"/") }) {
			t.Errorf("%s does not fail any more: take it off the list", name)
		}
	}
}
