package command

import (
	"strings"
	"testing"
)

// An export of some records has the events of the whole one, with the same attestations.
func TestExportAsOCSF(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for _, args := range [][]string{{"call", "read_file", `{"path":"README.md"}`}, {"principals", "add", "ci"}} {
		runSallyport(t, dir, args...)
	}
	_, _ = sallyportCommand(dir, "call", "read_file", `{"path":"/etc/shadow"}`).CombinedOutput()
	whole := runSallyport(t, dir, "audit", "export", "--format", "ocsf")
	if n := strings.Count(whole, "\n"); strings.Count(whole, `"prev_event":`) != n-1 || strings.Count(whole, `"profiles":["ai_operation","record_integrity"]`) != n || n < 5 {
		t.Fatalf("the whole export is\n%s", whole)
	}
	for _, filter := range [][]string{{"--denied"}, {"--tool", "read_file"}, {"-n", "2"}} {
		part := runSallyport(t, dir, append([]string{"audit", "export", "--format", "ocsf"}, filter...)...)
		if part == "" || part == whole {
			t.Errorf("%v selects all or nothing", filter)
		}
		for line := range strings.Lines(part) {
			if !strings.Contains(whole, line) {
				t.Errorf("%v: the event is another one in the whole export: %s", filter, line)
			}
		}
	}
}
