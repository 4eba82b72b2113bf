package command

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/needs"
)

// stepNotes matches the notes of steps that are under way, in a folder whose home the
// tests place in it.
const stepNotes = "home/.local/state/sallyport/steps/*/step.json"

// moment is when a command is ended that is about to start in a folder.
type moment func(dir string) (reached func() bool)

// whenThere is the moment at which a pattern in the folder matches a file.
func whenThere(pattern string) moment {
	return func(dir string) func() bool {
		return func() bool { return len(matching(filepath.Join(dir, pattern))) > 0 }
	}
}

// whenChanged is the moment at which the files that a pattern in the folder matches have
// another text.
func whenChanged(pattern string) moment {
	return func(dir string) func() bool {
		texts := func() (all string) {
			for _, path := range matching(filepath.Join(dir, pattern)) {
				text, _ := os.ReadFile(path) // one that is gone has another text
				all += string(text)
			}
			return all
		}
		before := texts()
		return func() bool { return texts() != before }
	}
}

// matching lists the files of a pattern, which is one of these tests.
func matching(pattern string) []string {
	found, err := filepath.Glob(pattern)
	if err != nil {
		panic(err)
	}
	return found
}

// atEachMoment runs a test for each moment at which a command ends, by a signal that a
// program cannot catch and by the one of Ctrl-C.
func atEachMoment(t *testing.T, moments map[string]moment, test func(t *testing.T, when moment, signal syscall.Signal)) {
	t.Helper()
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGINT}
	for name, when := range moments {
		for _, signal := range signals[:needs.Count(1, 2)] {
			t.Run(name+" by "+signal.String(), func(t *testing.T) {
				t.Parallel()
				test(t, when, signal)
			})
		}
	}
}

// endCommand starts a command and sends it a signal as soon as a moment is reached.
func endCommand(t *testing.T, dir string, when moment, signal syscall.Signal, args ...string) {
	t.Helper()
	var said bytes.Buffer
	cmd := sallyportCommand(dir, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	reached := when(dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	for !reached() {
		select {
		case <-ended:
			t.Logf("the command ended by itself:\n%s", said.String())
			return
		default:
			runtime.Gosched()
		}
	}
	_ = cmd.Process.Signal(signal) // it may have ended by itself
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Errorf("the command goes on after %v", signal)
		_ = cmd.Process.Kill()
		<-ended
	}
}

// nothingBeside finds no file that a command left beside one that it changes.
func nothingBeside(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, file := range files {
		folder, name := filepath.Split(file)
		if left := matching(filepath.Join(dir, folder, "."+name+".*")); len(left) > 0 {
			t.Errorf("beside %s: %q", file, left)
		}
	}
}
