package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// A number that was given back may be that of another process, and of a group,
// when a caller stops the child that had it.
func TestLifeEndsWithTheNumber(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1, Level: sallyport.LevelNone}))
	started := w.start(t.Context(), sallyport.SpawnOptions{}, "true")
	w.wait(started)
	other := exec.Command("sleep", mark(t))
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	started.(*childProcess).proc = other.Process
	started.Stop(0)
	started.(*childProcess).endNow(errClosed)
	// A signal that was sent before this one would have ended it.
	_ = other.Process.Signal(syscall.SIGTERM)
	err := other.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the process that has the number now: %v, want it alone", err)
	}
}

// Without a namespace the group ends with its first process, which may be gone
// before the others.
func TestLifeOfAGroup(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1, Level: sallyport.LevelNone}))
	m := mark(t)
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "sleep "+m+" & echo end")
	if string(res.Stdout) != "end\n" {
		t.Errorf("stdout = %q", res.Stdout)
	}
	eventually(t, "the group is gone", func() bool { return len(marked(m)) == 0 })
}

// What has left the group of a child that is not confined may hold its output
// for ever.
func TestLifeOfOutputThatIsHeld(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1, Level: sallyport.LevelNone}))
	for _, o := range []sallyport.SpawnOptions{{}, {Output: newReadyOutput()}} {
		m := mark(t)
		c := w.start(t.Context(), o, "sh", "-c", "setsid sleep "+m+" & echo $!; sleep 0.1; echo end")
		select {
		case <-c.Done():
		case <-time.After(patience):
			t.Error("the child has not ended")
		}
		left := marked(m)
		for _, line := range left {
			pid, _ := strconv.Atoi(strings.Split(line, "/")[2])
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(left) == 0 {
			t.Error("no process held the output")
		}
		res, err := c.Wait()
		text := string(res.Stdout)
		if s, ok := o.Output.(*readyOutput); ok {
			text = s.text.String()
		}
		if err != nil || !strings.HasSuffix(text, "\nend\n") {
			t.Errorf("output = %q, %v; want what was written before the end", text, err)
		}
	}
}

// A file that the kernel does not execute is no fault of the confinement.
func TestLifeOfAFileThatIsNoProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(dir+"/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"garbage": "\x00\x01garbage", "lost": "#!/nowhere/interpreter\n"} {
		if err := os.WriteFile(dir+"/bin/"+name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := workspace(t, open(t, &Options{Warm: -1, Toolchains: []Toolchain{Dir(dir)}}))
	for name, want := range map[string]string{
		"garbage": "garbage could not be executed: exec format error",
		"lost":    "lost could not be executed: no such file or directory",
	} {
		_, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, name))
		if e, ok := errors.AsType[*sallyport.Error](err); !ok || e.Code != sallyport.CodeExecutionFailed || e.Detail != want {
			t.Errorf("Start of %s = %v, want execution_failed, %s", name, err, want)
		}
	}
}
