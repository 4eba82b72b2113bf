package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
)

// layered returns a workplace whose children have private layers within limits.
func layered(t *testing.T, l Limits) *workplace {
	t.Helper()
	w := workspace(t, open(t, &Options{Warm: -1, Limits: l}))
	w.grant.FS.Mode = sallyport.FSOverlay
	return w
}

// freeBytes is what the file system of the host's temporary files has left.
func freeBytes(t *testing.T) int64 {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(os.TempDir(), &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Bsize
}

func TestA8_ALayerIsBoundedAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, script string
		limits       Limits
		want         string
	}{
		{"bytes", "head -c 64M /dev/zero >big", Limits{LayerBytes: 8 << 20}, "8388608 bytes"},
		{"many files", "i=0; while [ $i -lt 400 ]; do : >f$i || exit 1; i=$((i+1)); done", Limits{LayerFiles: 200}, "200 files"},
		{"sum of files", "for i in 1 2 3 4 5 6; do head -c 2M /dev/zero >f$i || exit 1; done", Limits{LayerBytes: 8 << 20}, "8388608 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := layered(t, tt.limits)
			var res sallyport.ProcessResult
			used := int64(math.MaxInt64)
			for try := 0; try < 4 && used > 48<<20; try++ { // others write to that disk, too, but not each time
				before := freeBytes(t)
				res = w.run(sallyport.SpawnOptions{}, "sh", "-c", tt.script)
				used = before - freeBytes(t)
			}
			if res.ExitCode == 0 || !strings.Contains(string(res.Stderr), "No space left on device") {
				t.Errorf("exit %d, %s, want ENOSPC", res.ExitCode, res.Stderr)
			}
			if res.LayerFull != tt.want {
				t.Errorf("LayerFull = %q, want %q", res.LayerFull, tt.want)
			}
			if used > 48<<20 {
				t.Errorf("the host's temporary disk lost %d bytes", used)
			}
			if got := contents(t, w.dir); len(got) > 0 {
				t.Errorf("committed: %v", got)
			}
		})
	}
}

func TestA8_ALargeBuildFitsIntoALargerLayer(t *testing.T) {
	t.Parallel()
	w := layered(t, Limits{LayerBytes: 96 << 20})
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "head -c 64M /dev/zero >big")
	info, err := os.Stat(filepath.Join(w.dir, "big"))
	if res.ExitCode != 0 || res.LayerFull != "" || err != nil || info.Size() != 64<<20 {
		t.Fatalf("exit %d, %s, full %q, %v, changes %+v", res.ExitCode, res.Stderr, res.LayerFull, err, res.Changes)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; int(uid) != os.Geteuid() {
		t.Errorf("the file belongs to %d, want the user of the gate", uid)
	}
}

// A hole of a file stays one on the host.
func TestA8_AHoleTakesNoSpaceOfTheHost(t *testing.T) {
	t.Parallel()
	w := layered(t, Limits{LayerBytes: 96 << 20})
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "printf begin >big; truncate -s 64M big; printf end >>big; truncate -s 65M big")
	path := filepath.Join(w.dir, "big")
	info, err := os.Stat(path)
	if res.ExitCode != 0 || err != nil || info.Size() != 65<<20 {
		t.Fatalf("exit %d, %s, %v, changes %+v", res.ExitCode, res.Stderr, err, res.Changes)
	}
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 1<<20 {
		t.Errorf("the file takes %d bytes of the host", used)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text[:5]) != "begin" || string(text[64<<20:64<<20+3]) != "end" || text[5] != 0 || text[len(text)-1] != 0 {
		t.Errorf("the file has other contents: %v", err)
	}
}

// A layer that is too large to be carried over says by what.
func TestA8_ACommitSaysWhichBoundItMet(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := layered(t, Limits{LayerBytes: 8 << 20})
	w.r.logger = slog.New(slog.NewTextHandler(&log, nil))
	c, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "truncate", "-s", "64M", "big"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Wait()
	if err == nil || !strings.Contains(log.String(), "more than 8388608 bytes, the holes in them included") {
		t.Errorf("Wait = %v, the log %q", err, log.String())
	}
}

// A principal has so many layers at a time, and they are free again at the end.
func TestA8_LayersAreBoundedPerPrincipal(t *testing.T) {
	w := layered(t, Limits{Layers: 2})
	start := func(principal string) (sallyport.Child, error) {
		s := w.spawn(sallyport.SpawnOptions{}, "sleep", "60")
		s.Principal = principal
		return w.r.Start(t.Context(), s)
	}
	var running []sallyport.Child
	for _, principal := range []string{"a", "b", "a"} {
		c, err := start(principal)
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, c)
	}
	if c, err := start("a"); err == nil || !strings.Contains(err.Error(), "no private layer is free: 2 are in use") {
		t.Errorf("Start = %v, %v, want a refusal", c, err)
	}
	running[0].Stop(0)
	c, err := start("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(running, c) {
		c.Stop(0)
	}
	w.r.mu.Lock()
	defer w.r.mu.Unlock()
	if len(w.r.layers) != 0 {
		t.Errorf("still counted: %v", w.r.layers)
	}
}

// The child sees its writes through the floor's mounts alone: the memory below
// them is nowhere in its tree.
func TestA8_TheMemoryOfALayerIsOutOfReach(t *testing.T) {
	t.Parallel()
	w := layered(t, Limits{})
	w.write(".git/config", "[core]\n")
	res := w.run(sallyport.SpawnOptions{}, "sh", "-c", "echo x >x; ls -A / | grep layers; ls -Ad /.layers /.host; grep -c layers /proc/self/mountinfo; exit 0")
	if res.ExitCode != 0 || strings.Contains(string(res.Stdout), "/") || strings.Contains(string(res.Stdout), "layers") {
		t.Errorf("the child sees %q %q", res.Stdout, res.Stderr)
	}
}

// TestA9_NothingOutlivesAKilledRuntime: what its children wrote is gone with
// it, and what it had made besides with the next start.
func TestA9_NothingOutlivesAKilledRuntime(t *testing.T) {
	if os.Getenv(roleVar) == "layered" {
		w := layered(t, Limits{})
		if _, err := w.r.scratch.Dir("left"); err != nil {
			t.Fatal(err)
		}
		out := newReadyOutput()
		w.start(context.Background(), sallyport.SpawnOptions{Output: out}, "sh", "-c", "head -c 32M /dev/zero >big; echo written; sleep 300")
		out.wait(t)
		fmt.Println("ready")
		time.Sleep(patience)
		return
	}
	scratch := t.TempDir()
	if err := os.Chmod(scratch, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	cmd := role(t, "layered", &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}, "x")
	cmd.Env = append(cmd.Env, "TMPDIR="+scratch)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the runtime said %q, %v", line, err)
	}
	left := func() []string {
		list, err := filepath.Glob(scratch + "/sallyport-run-*")
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	next := func() {
		r, err := New(asAsked(&Options{Warm: -1, Scratch: scratch}))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if next(); len(left()) != 1 {
		t.Errorf("beside a living runtime: %v, want what it made", left())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	next()
	if len(left()) > 0 {
		t.Errorf("left behind: %v", left())
	}
	// Nothing of what the child wrote is on the host.
	err = filepath.WalkDir(scratch, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "big" {
			t.Errorf("left behind: %s", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
