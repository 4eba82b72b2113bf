package command

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// grantedState returns the texts of the files that a grant changes.
func grantedState(t *testing.T, dir string) (state [2]string) {
	t.Helper()
	for i, file := range []string{app.ConfigName, app.LockName} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		state[i] = string(text)
	}
	return state
}

// TestAKilledGrantIsWhole ends grant and revoke at different points, by a signal that a
// program cannot catch and by the one of Ctrl-C. The next command finds configuration
// and lock file both as before or both as after, with nothing beside them. The command
// can be run again, and the server goes on.
func TestAKilledGrantIsWhole(t *testing.T) {
	t.Parallel()
	atEachMoment(t, map[string]moment{
		"at once":                    whenThere("."),
		"with the record":            whenChanged(app.StateDir + "/state.db-log/*"),
		"with the note":              whenThere(stepNotes),
		"with the new configuration": whenChanged(app.ConfigName),
		"with the new lock file":     whenChanged(app.LockName),
	}, func(t *testing.T, when moment, signal syscall.Signal) {
		p := newPinnedFolder(t, "echo", "Says it.")
		grant := []string{"grant", "notes", "--write", "out", "--yes"}
		revoke := []string{"revoke", "notes", "--write", "out", "--yes"}
		p.run(0, grant...)
		granted := grantedState(t, p.dir)
		p.run(0, revoke...)
		revoked := grantedState(t, p.dir)
		if granted[0] == revoked[0] || granted[1] == revoked[1] {
			t.Fatal("a grant changes nothing")
		}
		for _, step := range []struct {
			args          []string
			before, after [2]string
		}{{grant, revoked, granted}, {revoke, granted, revoked}} {
			endCommand(t, p.dir, when, signal, step.args...)
			p.run(0, "tools", "--personality", "ops")
			switch is := grantedState(t, p.dir); is {
			case step.after:
			case step.before:
				p.run(0, step.args...)
				if again := grantedState(t, p.dir); again != step.after {
					t.Errorf("after %s is run again:\n%s\n%s", step.args[0], again[0], again[1])
				}
			default:
				t.Errorf("after the next command, %s left:\n%s\n%s", step.args[0], is[0], is[1])
			}
			nothingBeside(t, p.dir, app.ConfigName, app.LockName)
			if left := matching(filepath.Join(p.dir, stepNotes)); len(left) > 0 {
				t.Errorf("a note is left: %q", left)
			}
			p.works()
		}
		p.says(0, "everything is as ", "", "diff")
		p.run(0, "audit", "verify")
	})
}
