package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/seccomp"
)

// product builds the command, whose size and packages a helper of a real
// installation has, in the place of those of this test.
func product(b *testing.B) string {
	b.Helper()
	// A child with a user of its own starts the helper as that user.
	dir := b.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	path := filepath.Join(dir, "sallyport")
	cmd := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "../cmd/sallyport")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return path
}

// bubblewrap returns the command with the namespaces, the tree and the filter
// of a child.
func bubblewrap(b *testing.B, dir string) func() *exec.Cmd {
	b.Helper()
	path, err := exec.LookPath("bwrap")
	if err != nil {
		b.Log("bwrap is not installed: left out")
		return nil
	}
	prog, err := seccomp.Assemble(seccomp.Options{Network: true, IPC: true, Sessions: true})
	if err != nil {
		b.Fatal(err)
	}
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	if err != nil {
		b.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "filter")
	b.Cleanup(func() { file.Close() })
	if _, err := file.Write(prog.Encode()); err != nil {
		b.Fatal(err)
	}
	return func() *exec.Cmd {
		_, _ = file.Seek(0, 0)
		cmd := exec.CommandContext(b.Context(), path, "--unshare-all", "--die-with-parent", "--new-session",
			"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
			"--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
			"--bind", dir, dir, "--seccomp", "3", "/bin/true")
		cmd.ExtraFiles = []*os.File{file}
		return cmd
	}
}

// times are the durations of one way of starting a program.
type times []time.Duration

func (t *times) recordSince(begun time.Time) { *t = append(*t, time.Since(begun)) }

func (t times) at(share float64) time.Duration {
	slices.Sort(t)
	return t[min(int(share*float64(len(t))), len(t)-1)]
}

func (t times) report(b *testing.B, name string) {
	if len(t) == 0 {
		return
	}
	b.ReportMetric(float64(t.at(0.5))/1e6, name+"-ms")
	b.ReportMetric(float64(t.at(0.1))/1e6, name+"-p10-ms")
}

// spawnTrue runs /bin/true to its end.
func spawnTrue(b *testing.B, w *workplace) {
	c, err := w.r.Start(context.Background(), w.spawn(sallyport.SpawnOptions{}, "true"))
	if err == nil {
		var res sallyport.ProcessResult
		if res, err = c.Wait(); res.ExitCode != 0 {
			b.Errorf("exit %d: %s", res.ExitCode, res.Stderr)
		}
	}
	if err != nil {
		b.Error(err)
	}
}

// BenchmarkSpawn compares the ways of starting /bin/true. They take turns, so
// that all have the same neighbours. The figures are medians and the tenth
// part that was fastest.
func BenchmarkSpawn(b *testing.B) {
	b.Run("test", func(b *testing.B) { benchmarkSpawn(b, "", 0) })
	b.Run("product", func(b *testing.B) { benchmarkSpawn(b, product(b), 0) })
	// Some of the kernel's locks cost the one who comes first after a pause a
	// wait for RCU.
	b.Run("paused", func(b *testing.B) { benchmarkSpawn(b, product(b), 50*time.Millisecond) })
}

func benchmarkSpawn(b *testing.B, self string, pause time.Duration) {
	cold := workspace(b, open(b, &Options{Warm: -1}), "example.com")
	warmed := workspace(b, open(b, &Options{Warm: 1}), "example.com")
	for _, w := range []*workplace{cold, warmed} {
		if self != "" {
			w.r.platform.self = self
		}
		spawnTrue(b, w)
	}
	wrap := bubblewrap(b, cold.dir)
	var plainTimes, coldTimes, warmTimes, wrapTimes times
	for b.Loop() {
		begun := time.Now()
		if err := exec.CommandContext(b.Context(), "/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
		plainTimes.recordSince(begun)

		time.Sleep(pause)
		begun = time.Now()
		spawnTrue(b, cold)
		coldTimes.recordSince(begun)

		if wrap != nil {
			begun = time.Now()
			if out, err := wrap().CombinedOutput(); err != nil {
				b.Fatalf("bwrap: %v: %s", err, out)
			}
			wrapTimes.recordSince(begun)
		}

		warm(b, warmed.r, 1)
		begun = time.Now()
		spawnTrue(b, warmed)
		warmTimes.recordSince(begun)
		warm(b, warmed.r, 1)
	}
	b.ReportMetric(0, "ns/op")
	plainTimes.report(b, "plain")
	coldTimes.report(b, "cold")
	warmTimes.report(b, "warm")
	wrapTimes.report(b, "bwrap")
}

// BenchmarkBurst starts 64 children at once, and says what each of them costs
// in processor time.
func BenchmarkBurst(b *testing.B) {
	self := product(b)
	for _, c := range []struct {
		name string
		warm int
	}{{"cold", -1}, {"warm16", 16}, {"warm32", 32}, {"warm64", 64}} {
		b.Run(c.name, func(b *testing.B) { benchmarkBurst(b, self, c.warm) })
	}
}

func benchmarkBurst(b *testing.B, self string, keep int) {
	const atOnce = 64
	w := workspace(b, open(b, &Options{Warm: keep}))
	spawnTrue(b, w)
	w.r.platform.self = self
	var all times
	var cpu time.Duration
	for b.Loop() {
		warm(b, w.r, max(keep, 0))
		before := processorTime(b)
		var mu sync.Mutex
		var wg sync.WaitGroup
		gate := make(chan struct{})
		for range atOnce {
			wg.Go(func() {
				<-gate
				begun := time.Now()
				spawnTrue(b, w)
				mu.Lock()
				all.recordSince(begun)
				mu.Unlock()
			})
		}
		close(gate)
		wg.Wait()
		warm(b, w.r, max(keep, 0))
		cpu += processorTime(b) - before
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(all.at(0.5))/1e6, "p50-ms")
	b.ReportMetric(float64(all.at(0.99))/1e6, "p99-ms")
	b.ReportMetric(float64(cpu)/1e6/float64(len(all)), "cpu-ms/spawn")
}

// processorTime is what this process and its children have used.
func processorTime(b *testing.B) (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
