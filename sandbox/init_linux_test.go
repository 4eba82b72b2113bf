package sandbox

import (
	"os/exec"
	"strings"
	"testing"
	"time"

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

// The first process waits for orphans, and has nothing that the program could
// take from it.
func TestH2_AnInitWaitsAndHoldsNothing(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	for _, c := range []struct{ name, script, want string }{
		{"it is not the program", "[ $$ != 1 ] && echo below", "below\n"},
		{"orphans", `for i in 1 2 3 4 5; do (sleep 0.01 &); done; sleep 0.3; cat /proc/[0-9]*/status | grep -c '^State:.*zombie'`, "0\n"},
		{"name", "until grep -q init /proc/1/cmdline; do :; done; tr '\\0' ' ' </proc/1/cmdline | cut -d' ' -f1", "sallyport-init\n"},
		{"descriptors", "for f in /proc/1/fd/*; do readlink $f; done 2>/dev/null | wc -l", "0\n"},
		{"memory", "head -c1 /proc/1/mem >/dev/null 2>&1 || echo closed", "closed\n"},
		{"environment", "cat /proc/1/environ 2>/dev/null | wc -c", "0\n"},
		{
			"privileges", "until grep -q init /proc/1/cmdline; do :; done; grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd|Threads):' /proc/1/status | tr -s '\\t\\n' '  '",
			"Threads: 1 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 ",
		},
		{"signals", "kill -KILL 1; kill -TERM 1; kill -SEGV 1; kill -STOP 1; kill -ABRT 1; kill -HUP -1; echo on", ""},
		{"the group", "trap '' TERM; kill -TERM 0; echo on", "on\n"},
	} {
		res := w.run(sallyport.SpawnOptions{}, "sh", "-c", c.script)
		if got := string(res.Stdout); c.want != "" && got != c.want {
			t.Errorf("%s: %q, want %q\n%s", c.name, got, c.want, res.Stderr)
		}
		if c.name == "signals" && !strings.HasSuffix(string(res.Stdout), "on\n") {
			t.Errorf("%s: %q, exit %d; want that the init lives on", c.name, res.Stdout, res.ExitCode)
		}
	}
}

// Streams end with those who use them, although the init lives on.
func TestH2_AnInitHoldsNoStream(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, nil))
	c := w.start(t.Context(), sallyport.SpawnOptions{}, "sh", "-c", "trap 'exit 5' TERM; exec >&- 2>&-; while :; do sleep 0.01; done")
	for _, out := range []*outputCapture{&c.(*childProcess).out, &c.(*childProcess).err} {
		select {
		case <-out.done:
		case <-time.After(patience):
			t.Fatal("an output is held that the program has closed")
		}
	}
	c.Stop(patience)
	if res := w.wait(c); res.ExitCode != 5 {
		t.Errorf("exit code %d after Stop, want that of the program's handler", res.ExitCode)
	}
}

func TestH2_EndsTheSameForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	asNobody(t, "^TestH2_A")
}
