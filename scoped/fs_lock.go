package scoped

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

var errUnsteady = errors.New("it is being replaced all the time")

// maxLockTries bounds how often a file may be replaced between opening it and
// getting its lock.
const maxLockTries = 1000

// lockCurrent takes the advisory lock of the file that is there now and returns it,
// open for reading; nil, under the lock of the directory, when there is none.
// The lock sits on the file itself, so every name of it and every process that
// writes through an accessor meets it, and no lock file stays behind. Since a
// write replaces the file, the lock counts only if the file is still the one
// at the name once the lock is held.
func (b *boundFiles) lockCurrent(p string, dir *writeFolder, base string) (old *os.File, unlock func(), err error) {
	for range maxLockTries {
		old, err = b.openOld(p, dir, base)
		if err != nil {
			return nil, nil, err
		}
		target := old
		if old == nil {
			if target, err = dir.root.Open("."); err != nil {
				return nil, nil, newPathError(opWrite, p, err)
			}
		}
		release, err := lockFile(b.ctx, target, filepath.Join(dir.real, base))
		if err != nil {
			_ = target.Close() // The error that counts is the other one.
			return nil, nil, newPathError(opWrite, p, err)
		}
		if stillThere(dir, base, old) {
			return old, func() { release(); _ = target.Close() }, nil // Closing releases the lock.
		}
		release()
		_ = target.Close() // Another call was faster; look again.
	}
	return nil, nil, newPathError(opWrite, p, errUnsteady)
}

// openOld opens the file to be replaced, nil when there is none. A process that may
// not write the file may not replace it either, though the directory would
// permit that.
func (b *boundFiles) openOld(p string, dir *writeFolder, base string) (*os.File, error) {
	info, err := dir.root.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, newPathError(opWrite, p, err)
	}
	if !info.Mode().IsRegular() {
		return nil, b.refuseKind(opWrite, p, info.Mode())
	}
	w, err := dir.root.OpenFile(base, os.O_WRONLY|openFlags, 0)
	switch {
	case err == nil:
		_ = w.Close() // Nothing was written.
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case !errors.Is(err, syscall.ETXTBSY):
		// A program that is running can be replaced, but not opened.
		return nil, b.openError(opWrite, p, err)
	}
	f, err := dir.root.OpenFile(base, os.O_RDONLY|openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, b.openError(opWrite, p, err)
	}
	return f, nil
}

// stillThere reports whether base is still the file that was opened, or still
// missing when none was.
func stillThere(dir *writeFolder, base string, old *os.File) bool {
	now, err := dir.root.Lstat(base)
	if old == nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if err != nil {
		return false
	}
	then, err := old.Stat()
	return err == nil && os.SameFile(now, then)
}

// lockWait bounds the wait for a file that another call is writing: longer
// than any write takes, shorter than a caller's patience.
const lockWait = 10 * time.Second

var errBusy = errors.New("another call is writing it")

// pollUntil calls try until it succeeds, fails, the context ends or lockWait has
// passed. Advisory locks have no wait that a context could end.
func pollUntil(ctx context.Context, try func() (bool, error)) error {
	deadline := time.Now().Add(lockWait)
	var timer *time.Timer
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		if ok, err := try(); ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return errBusy
		}
		if timer == nil {
			timer = time.NewTimer(pause)
			defer timer.Stop()
		} else {
			timer.Reset(pause)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
	}
}
