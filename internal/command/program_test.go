package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"
)

// raceChildren is the environment variable that gives the program of the tests
// the race detector. A start then costs 83 ms of processor time in place of 24,
// and the tests start the program more than a thousand times.
const raceChildren = "SALLYPORT_TEST_RACE_CHILDREN"

// testPause is the pause between two looks at what may have changed, here and in
// testdata/program.
const testPause = 50 * time.Millisecond

// TestMain builds the program once and puts it on PATH as sallyport, where
// scripts and sallyportCommand find it.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // many commands run here, one after another
	dir, err := os.MkdirTemp("", "sallyport-program-")
	if err == nil {
		err = buildProgram("./testdata/program", filepath.Join(dir, "sallyport"), os.Getenv(raceChildren) == "1")
	}
	if err == nil {
		err = os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// buildProgram builds a program as sallyport is released, or with the race
// detector.
func buildProgram(source, path string, race bool) error {
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", path, source}
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if race {
		cmd = exec.Command("go", append([]string{"build", "-race"}, args[1:]...)...)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}
