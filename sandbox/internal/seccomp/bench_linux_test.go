package seccomp

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkCall compares calls without a filter, with an answer that the
// kernel has cached, and with one that the filter is run for.
func BenchmarkCall(b *testing.B) {
	getpid := func() { call(unix.SYS_GETPID) }
	prctl := func() { call(unix.SYS_PRCTL, unix.PR_GET_NO_NEW_PRIVS) }
	for _, bb := range []struct {
		name     string
		filtered bool
		call     func()
	}{
		{"getpid/plain", false, getpid},
		{"getpid/filtered", true, getpid},
		{"prctl/plain", false, prctl},
		{"prctl/filtered", true, prctl},
	} {
		b.Run(bb.name, func(b *testing.B) {
			done := make(chan error)
			go func() {
				runtime.LockOSThread()
				var err error
				if bb.filtered {
					err = installNow()
				}
				b.ResetTimer()
				for range b.N {
					bb.call()
				}
				b.StopTimer()
				done <- err
			}()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}

// installNow filters the calling thread.
func installNow() error {
	p, err := Assemble(full)
	if err != nil {
		return err
	}
	_, err = installFilter(p, false)
	return err
}

func BenchmarkAssemble(b *testing.B) {
	for b.Loop() {
		if _, err := Assemble(full); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInstall(b *testing.B) {
	p, err := Assemble(full)
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		done := make(chan error)
		go func() {
			runtime.LockOSThread()
			_, err := installFilter(p, false)
			done <- err
		}()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}
