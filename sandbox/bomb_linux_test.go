package sandbox

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

// bombs fill their namespace with processes that all want to run.
var bombs = map[string]string{
	"python": "import os\nprint(1, flush=True)\nwhile True:\n try: os.fork()\n except OSError: pass",
	"python, sessions of their own": "import os\nprint(1, flush=True)\nwhile True:\n try:\n  if os.fork() == 0: os.setsid()\n" +
		" except OSError: pass",
	"python that handles the signal": "import os, signal\nsignal.signal(signal.SIGTERM, lambda *a: None)\nprint(1, flush=True)\n" +
		"while True:\n try: os.fork()\n except OSError: pass",
	"sh": "echo 1; b() { b | b & while :; do :; done; }; b",
	"C":  "#include <unistd.h>\nint main(void) { write(1, \"1\", 1); for (;;) fork(); }",
}

// bomb is the program and the arguments of one.
func bomb(t *testing.T, w *workplace, name string) []string {
	t.Helper()
	switch name {
	case "sh":
		return []string{"sh", "-c", bombs[name]}
	case "C":
		compiler, err := exec.LookPath("cc")
		if err != nil {
			return nil
		}
		source := filepath.Join(w.dir, "bomb.c")
		w.write("bomb.c", bombs[name])
		if out, err := exec.CommandContext(t.Context(), compiler, "-o", filepath.Join(w.dir, "bomb"), source).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return []string{"sh", "-c", "cp bomb /tmp && exec /tmp/bomb"}
	default:
		installed(t, "python3")
		return []string{"python3", "-c", bombs[name]}
	}
}

// ending ends a child that has run for a time, and returns when it did.
type ending struct {
	name string
	end  func(after time.Duration, cancel func(), c sallyport.Child) time.Time
}

var endings = []ending{
	{"timeout", func(after time.Duration, _ func(), c sallyport.Child) time.Time {
		return c.(*childProcess).start.Add(after)
	}},
	{"cancel", func(after time.Duration, cancel func(), _ sallyport.Child) time.Time {
		time.Sleep(after)
		defer cancel()
		return time.Now()
	}},
	{"stop", func(after time.Duration, _ func(), c sallyport.Child) time.Time {
		time.Sleep(after)
		begun := time.Now()
		c.Stop(0)
		return begun
	}},
}

const (
	// bombTime is long enough for all processes that there may be on an idle
	// machine. A bomb that has not begun by then is given more of it.
	bombTime = 200 * time.Millisecond
	// bombEnd is how long after its time a child may be there; bombTries how
	// often it is tried beside what else the machine does.
	bombEnd   = time.Second
	bombTries = 4
)

// Nothing is left a second after its time, however many processes want to run:
// with control groups and without. Each bomb has one of the endings, or all of
// them when the test may be long.
func TestH3_HundredsOfProcessesEndInTime(t *testing.T) {
	needs.NoRace(t)
	for name, off := range map[string]layers{"groups": 0, "no groups": layerGroups} {
		r := open(t, &Options{Warm: -1, without: off})
		for i, kind := range slices.Sorted(maps.Keys(bombs)) {
			w := workspace(t, r)
			argv := bomb(t, w, kind)
			if argv == nil {
				continue
			}
			ended := endings
			if !needs.Long() {
				ended = ended[i%len(ended):][:1]
			}
			for _, e := range ended {
				var late time.Duration
				begun := false
				for try := range bombTries {
					var has bool
					late, has = explode(t, w, argv, e, bombTime<<try)
					if begun = begun || has; has && late <= bombEnd {
						break
					}
				}
				if !begun {
					t.Errorf("%s, %s, %s: the bomb never began", name, kind, e.name)
				}
				t.Logf("%s, %s, %s: gone %v after its time", name, kind, e.name, late)
				if late > bombEnd {
					t.Errorf("%s, %s, %s: gone %v after its time, want %v", name, kind, e.name, late, bombEnd)
				}
			}
		}
	}
}

// explode runs a bomb, and returns how late it was gone and whether it had begun.
func explode(t *testing.T, w *workplace, argv []string, e ending, after time.Duration) (late time.Duration, has bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := sallyport.SpawnOptions{}
	if e.name == "timeout" {
		o.Timeout = after
	}
	c := w.start(ctx, o, argv[0], argv[1:]...)
	ended := e.end(after, cancel, c)
	res, _ := c.Wait()
	return time.Since(ended), len(res.Stdout) > 0
}

func TestH3_HoldsForAnOrdinaryUser(t *testing.T) {
	needs.LongRun(t, "the same as an ordinary user, too")
	asNobody(t, "^TestH3_Hundreds", "PATH="+os.Getenv("PATH"))
}
