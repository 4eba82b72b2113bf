package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// maxClosed bounds how much of the system is covered one by one.
const maxClosed = 4096

var errManyClosed = errors.New("the system has too many files for root alone to cover them")

// closedOps covers what of the system only root may read, and what of it is on
// the deny floor, from a child that shares the user of root. The walk takes a
// moment, and is made once until the system changes.
func (r *Runner) closedOps(steps []helper.Op) ([]helper.Op, error) {
	var ops []helper.Op
	for _, op := range steps {
		if op.Do != helper.DoBind || !ofSystem(op.Source) && !reach.Within("/etc", op.Source) {
			continue
		}
		err := filepath.WalkDir(op.Source, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			if !r.isClosed(path, info) {
				return nil
			}
			if len(ops) == maxClosed {
				return errManyClosed
			}
			ops = append(ops, helper.Op{Do: helper.DoCover, Path: op.Path + path[len(op.Source):], Optional: true})
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("sandbox: what only root may read of %s: %w", op.Source, err)
		}
	}
	return ops, nil
}

// isClosed reports whether a file of the system is not for every user of the
// machine. One that they may execute holds no secret.
func (r *Runner) isClosed(path string, info os.FileInfo) bool {
	if info.Mode()&os.ModeSymlink != 0 {
		return false
	}
	others := info.Mode().Perm() & 0o7
	if info.IsDir() && others&0o1 == 0 || !info.IsDir() && others&0o5 == 0 {
		return true
	}
	_, denied := r.floor.Check("read", path)
	return denied
}
