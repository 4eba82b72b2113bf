//go:build !linux

package sandbox

import (
	"context"
	"os"
	"syscall"

	"github.com/sallyport/sallyport"
)

// There are neither groups nor counters here.
type (
	controlGroup struct{}
	watchQuota   struct{}
)

// platform is empty where the kernel does not confine.
type platform struct{}

func (r *Runner) openPlatform() error { return nil }
func (r *Runner) closePlatform()      {}

// Shared is for Linux, where children have users of their own.
func (r *Runner) Shared(string) error { return nil }

// KeepWarm has nothing to keep warm here.
func (r *Runner) KeepWarm(int) {}

// probeMachine says that there is one level only.
func (r *Runner) probeMachine() *Report {
	rep := &Report{Wanted: r.o.Level, Layers: []Layer{{Name: "kernel", How: "children are confined on Linux only"}}}
	if r.o.Level == sallyport.LevelNone {
		rep.Level = sallyport.LevelNone
	} else {
		rep.Missing = "children are confined on Linux only"
	}
	return rep
}

func (r *Runner) launchChild(_ context.Context, c *childProcess) error { return r.startUnconfined(c) }

// killTree kills the child. Its descendants are killed where the system has
// groups for that.
func (c *childProcess) killTree() { _ = c.proc.Kill() }

func (c *childProcess) reap() (*os.ProcessState, error) { return c.proc.Wait() }

func (c *childProcess) sendSIGTERM() bool { return false }

func groupOfItsOwn() *syscall.SysProcAttr { return nil }
