package sandbox

import (
	"os/exec"
	"testing"

	"github.com/sallyport/sallyport"
)

// What a program does to itself ends as it would outside: the exit code is the
// one of a shell that started it there.
func TestH2_AProgramEndsItselfBySignals(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	cases := map[string][]string{"exit": {"sh", "-c", "exit 7"}, "exit of a signal's kind": {"sh", "-c", "exit 200"}}
	for _, name := range []string{"HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "FPE", "KILL", "USR1", "SEGV", "PIPE", "ALRM", "TERM", "SYS", "XCPU"} {
		cases["kill -"+name+" $$"] = []string{"sh", "-c", "kill -" + name + " $$; exit 3"}
	}
	for name, text := range map[string]string{
		"os.abort": "import os; os.abort()",
		"SIGSEGV":  "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
		"a fault":  "import ctypes; ctypes.string_at(0)",
		"SIGTERM of a thread": "import threading, signal, os, time\n" +
			"threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGTERM)).start()\ntime.sleep(20)",
	} {
		if _, err := exec.LookPath("python3"); err == nil {
			cases["python: "+name] = []string{"python3", "-c", text}
		}
	}
	for name, argv := range cases {
		outside := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `"$@"; exit $?`, "sh"}, argv...)...)
		_ = outside.Run()
		res := w.run(sallyport.SpawnOptions{}, argv[0], argv[1:]...)
		if want := outside.ProcessState.ExitCode(); res.ExitCode != want {
			t.Errorf("%s: exit code %d, want %d as outside\n%s", name, res.ExitCode, want, res.Stderr)
		}
	}
}
