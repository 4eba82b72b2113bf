package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// tryRun runs a child, or says why it did not start.
func tryRun(w *workplace, argv ...string) (sallyport.ProcessResult, error) {
	w.t.Helper()
	spawn := w.spawn(sallyport.SpawnOptions{}, argv[0], argv[1:]...)
	c, err := w.r.Start(w.t.Context(), spawn)
	if err != nil {
		return sallyport.ProcessResult{}, err
	}
	return c.Wait()
}

// TestProgramsAreShownBesideTheReach starts what the grant names as a program
// from a folder that is not in reach.
func TestProgramsAreShownBesideTheReach(t *testing.T) {
	t.Parallel()
	for _, level := range []sallyport.Level{sallyport.LevelFull, sallyport.LevelLandlock, sallyport.LevelNone} {
		t.Run(string(level), func(t *testing.T) {
			w := workspace(t, open(t, &Options{Warm: -1, Level: level}))
			w.grant.FS = sallyport.FSGrant{}
			if _, err := w.r.Confines(w.grant); err != nil {
				t.Skip(err)
			}
			script := w.write("run.sh", "#!/bin/sh\necho ran; cat \"$(dirname \"$0\")/beside.txt\"; echo more >>\"$0\"\n")
			w.write("beside.txt", "not in reach")
			if err := os.Chmod(script, 0o755); err != nil {
				t.Fatal(err)
			}
			w.grant.Process = sallyport.ProcessGrant{Binaries: []string{"sh", script}, Programs: []string{script}}
			for _, argv := range [][]string{{"sh", script}, {script}} {
				res, err := tryRun(w, argv...)
				if err != nil || !strings.HasPrefix(string(res.Stdout), "ran\n") {
					t.Errorf("%q = %q %q, %v, want it to run", argv, res.Stdout, res.Stderr, err)
				}
				if held := level != sallyport.LevelNone; held == strings.Contains(string(res.Stdout), "not in reach") {
					t.Errorf("%q reads what is beside it: %q", argv, res.Stdout)
				}
			}
			if text, err := os.ReadFile(script); level != sallyport.LevelNone && (err != nil || strings.Contains(string(text), "more\n")) {
				t.Errorf("the program wrote to itself: %q, %v", text, err)
			}
		})
	}
}

func TestProgramsThatMayBeWrittenAreRefused(t *testing.T) {
	t.Parallel()
	for _, level := range []sallyport.Level{sallyport.LevelFull, sallyport.LevelNone} {
		w := workspace(t, open(t, &Options{Warm: -1, Level: level}))
		script := w.write("run.sh", "echo ran")
		w.grant.Process.Programs = []string{script}
		if _, err := tryRun(w, "sh", script); !errors.Is(err, sallyport.ErrBinaryNotAllowed) {
			t.Errorf("%s: a program that the child may write = %v, want a refusal", level, err)
		}
	}
}

func TestProgramsOnTheFloorAreRefused(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := workspace(t, open(t, &Options{Warm: -1, Files: &sallyport.FileBackend{Home: home}}))
	key := filepath.Join(home, ".ssh", "id_ed25519")
	if err := os.MkdirAll(filepath.Dir(key), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, []byte("key of a user"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{key, filepath.Dir(key), home, "/dev/null", "/proc/version", filepath.Join(home, "absent")} {
		w.grant.Process.Programs = []string{path}
		if res, err := tryRun(w, "cat", path); !errors.Is(err, sallyport.ErrBinaryNotAllowed) {
			t.Errorf("the program %s = %q, %v, want a refusal", path, res.Stdout, err)
		}
	}
}

// TestTheProgramIsCheckedBeforeItRuns asks the caller about a program about the
// file that it is, and runs none that is refused.
func TestTheProgramIsCheckedBeforeItRuns(t *testing.T) {
	t.Parallel()
	for _, level := range []sallyport.Level{sallyport.LevelFull, sallyport.LevelNone} {
		w := workspace(t, open(t, &Options{Warm: -1, Level: level}))
		w.grant.Process.Binaries = []string{"sh"}
		want, err := filepath.EvalSymlinks("/bin/sh")
		if err != nil {
			t.Fatal(err)
		}
		for _, refusal := range []error{nil, errors.New("another file")} {
			var asked string
			ran := filepath.Join(w.dir, "ran")
			spawn := w.spawn(sallyport.SpawnOptions{Check: func(path string) error {
				asked = path
				return refusal
			}}, "sh", "-c", "echo >"+ran)
			c, err := w.r.Start(t.Context(), spawn)
			if err == nil {
				_, err = c.Wait()
			}
			_, missing := os.Stat(ran)
			if asked != want || !errors.Is(err, refusal) || (missing == nil) != (refusal == nil) {
				t.Errorf("%s: asked about %q, start = %v, ran: %v; want %q, %v", level, asked, err, missing == nil, want, refusal)
			}
			_ = os.Remove(ran)
		}
	}
}
