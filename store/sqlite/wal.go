package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/sallyport/sallyport/internal/fsx"
)

// logSyncer brings the write-ahead log to the disk, beside the engine: a commit that
// waits for the disk inside the engine keeps every other writer out until then.
// It is safe for concurrent use.
type logSyncer struct {
	path string

	mu sync.Mutex
	// file stays open, so that a failure of the disk between two syncs is
	// reported to the second.
	file *os.File
	// lost is the error of a sync that failed. The system forgets what it
	// could not write, and a later sync would succeed without it.
	lost error
}

// sync brings to the disk what was committed, by whomever.
func (w *logSyncer) sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost != nil {
		return w.lost
	}
	if err := w.openFile(); err != nil || w.file == nil {
		return err
	}
	w.lost = fsx.SyncData(w.file)
	return w.lost
}

// open opens the file, so that a failure of another process's sync from now on is
// reported to the next of ours.
func (w *logSyncer) open() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.openFile()
}

func (w *logSyncer) openFile() error {
	if w.file != nil {
		return nil
	}
	f, err := os.OpenFile(w.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		// The engine removes its log after it moved all of it.
		return nil
	}
	if err == nil {
		w.file = f
	}
	return err
}

// closeFile closes the file: the engine may have another one from now on.
func (w *logSyncer) closeFile() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.file
	if w.file = nil; f == nil {
		return nil
	}
	return f.Close()
}
