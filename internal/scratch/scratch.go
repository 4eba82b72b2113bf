// Package scratch gives a process folders for the time of its life, and removes
// those of processes that did not live to do it.
//
// Start with [New]. All folders of a [Space] lie in one of its own, which it
// holds a lock on: the lock ends with the process, by whatever end, and
// [Sweep] removes what no process holds. Where the system has no such locks,
// nothing is swept.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport/internal/fsx"
)

const (
	// prefix begins the name of a space, fresh that of one that has no lock yet.
	prefix = "sallyport-run-"
	fresh  = ".sallyport-new-"
	// freshAge is how long a space may take to get its lock.
	freshAge = time.Hour
	// lockName is the file in a space that is locked.
	lockName = ".lock"
)

// Space is the folder of one owner, made when it is first needed. It is safe
// for concurrent use.
type Space struct {
	base string

	mu     sync.Mutex
	dir    string
	lock   *os.File
	closed bool
}

// New returns a space in a folder; empty means the system's for temporary
// files. The caller closes it.
func New(base string) *Space {
	if base == "" {
		base = os.TempDir()
	}
	return &Space{base: base}
}

// Dir makes a folder, 0700, whose name begins with a word.
func (s *Space) Dir(word string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errors.New("scratch: the space is closed")
	}
	if s.dir == "" {
		if err := s.makeFolder(); err != nil {
			return "", fmt.Errorf("scratch: %w", err)
		}
	}
	return os.MkdirTemp(s.dir, word+"-")
}

// makeFolder makes the folder. It gets the name by which it may be swept when
// it is locked.
func (s *Space) makeFolder() error {
	dir, err := os.MkdirTemp(s.base, fresh)
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = fsx.TakeLock(lock)
	}
	name := filepath.Join(s.base, prefix+strings.TrimPrefix(filepath.Base(dir), fresh))
	if err == nil {
		err = os.Rename(dir, name)
	}
	if err != nil {
		if lock != nil {
			_ = lock.Close() // The error that counts is the other one.
		}
		return errors.Join(err, os.RemoveAll(dir))
	}
	s.dir, s.lock = name, lock
	return nil
}

// Close removes everything. Closing twice is safe.
func (s *Space) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.dir == "" {
		return nil
	}
	err := removeFolder(s.dir)
	s.dir = ""
	return errors.Join(err, s.lock.Close())
}

// Sweep removes the spaces in a folder whose owners are gone; empty means the
// system's for temporary files. It touches none of another user, and none that
// is held. The error says what could not be removed; the others were.
func Sweep(base string) error {
	if base == "" {
		base = os.TempDir()
	}
	entries, err := os.ReadDir(base)
	for _, e := range entries {
		path := filepath.Join(base, e.Name())
		switch {
		case !e.IsDir() || !isOwnFolder(path):
		case strings.HasPrefix(e.Name(), prefix):
			err = errors.Join(err, sweepSpace(path))
		case strings.HasPrefix(e.Name(), fresh):
			if info, e := os.Lstat(path); e == nil && time.Since(info.ModTime()) > freshAge {
				err = errors.Join(err, removeFolder(path))
			}
		}
	}
	return err
}

// sweepSpace removes one space unless it is held.
func sweepSpace(path string) error {
	lock, err := fsx.OpenLock(filepath.Join(path, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return removeFolder(path) // A process was killed while removing it.
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if fsx.TakeLock(lock) != nil {
		return nil // Its owner lives.
	}
	return removeFolder(path)
}

// removeFolder removes a folder in which a child may have closed some to
// itself. The lock goes last: what is left without it is abandoned.
func removeFolder(path string) error {
	_ = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
		if d == nil || !d.IsDir() {
			return nil
		}
		if os.Chmod(path, 0o700) != nil && err != nil {
			return fs.SkipDir // RemoveAll says so.
		}
		return nil
	})
	return os.RemoveAll(path)
}
