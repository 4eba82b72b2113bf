package anchor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport/sallyport/internal/fsx"
)

const (
	// lockTries and lockPause bound the wait for another process that appends.
	lockTries, lockPause = 100, 50 * time.Millisecond
	// minLine is less than the bytes of any line: its hash and its keys alone are longer.
	minLine = 100
)

// AppendTo adds the entry that look returns to the end of a file, and returns once it is on
// the disk. Look is asked while no other process appends, so that the order of the lines is
// the order of the heads. Nothing is added when the last line is the same head. A file whose
// last line is of another record, or is none, is refused, and so is one with as many lines as
// are compared.
func AppendTo(path string, look func() (Entry, error)) (e Entry, err error) {
	fresh := !fsx.Exists(path)
	f, err := openForAppend(path)
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := lockFileForAppend(f); err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	last, err := readLastEntry(f)
	if err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	if e, err = look(); err != nil {
		return e, err
	}
	switch {
	case last != nil && last.KeyID != e.KeyID:
		return e, fmt.Errorf("%s: its last line is of another record, with key %s: each record has a file of its own", path, last.KeyID)
	case last != nil && last.Head() == e.Head():
		return *last, nil
	}
	if err := checkRoom(f); err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	line, err := e.encodeLine()
	if err != nil {
		return e, err
	}
	if _, err := f.Write(line); err != nil {
		return e, err
	}
	if err := f.Sync(); err != nil {
		return e, err
	}
	if fresh {
		return e, fsx.SyncDir(filepath.Dir(path))
	}
	return e, nil
}

// openForAppend opens a regular file to add to it, and makes it when there is none.
func openForAppend(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, fsx.Cause(err))
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", path), f.Close())
	}
	return f, nil
}

func lockFileForAppend(f *os.File) error {
	for range lockTries {
		if fsx.TakeLock(f) == nil {
			return nil
		}
		time.Sleep(lockPause)
	}
	return errors.New("another process keeps it locked")
}

// readLastEntry returns the last line; nil when the file is empty.
func readLastEntry(f *os.File) (*Entry, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return nil, err
	}
	end := make([]byte, min(size, maxLine))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return nil, err
	}
	if end[len(end)-1] != '\n' {
		return nil, errors.New("its last line is cut off: look at it, and end or remove it")
	}
	end = end[:len(end)-1]
	e, err := parseEntry(end[bytes.LastIndexByte(end, '\n')+1:])
	if err != nil {
		return nil, fmt.Errorf("its last line is %w", err)
	}
	return &e, nil
}

// checkRoom returns an error when a file has as many lines as are read.
func checkRoom(f *os.File) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size < maxLines*minLine {
		return err
	}
	part, left := make([]byte, 1<<20), maxLines
	for r := io.NewSectionReader(f, 0, size); ; {
		n, err := r.Read(part)
		if left -= bytes.Count(part[:n], []byte("\n")); left <= 0 {
			return fmt.Errorf("it has %d lines and is full: go on in another file, under audit.anchors or with --to, and give it another name if it is a log (audit.origin or --origin)", maxLines)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// errNoAnchors: a file is empty.
var errNoAnchors = errors.New("there are no anchors in it")

// ReadFile reads the entries of a file.
func ReadFile(path string) ([]Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, fsx.Cause(err))
	}
	defer f.Close()
	list, err := ReadEntries(f)
	if err == nil && len(list) == 0 {
		err = errNoAnchors
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}
