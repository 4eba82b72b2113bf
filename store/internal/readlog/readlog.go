// Package readlog keeps what sessions read in files of one process until the
// state has it: a read is one short write then, and no transaction.
//
// Start with [New]; [Log.Add] adds a read, and [Log.Move] hands what there is to
// the state and empties the files. What was added survives the death of the
// process, and other processes see it at once: [Log.Others] returns it, and
// [Log.TakeOver] moves what dead ones left. A read may be handed over twice, and
// late: who stores it never replaces a newer one by it.
//
// Each process has two files in the folder. It locks them while it lives, and adds
// to one of them while the other is handed over, so that none is ever written anew.
package readlog

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
)

// maxBytes bounds a file.
const maxBytes = 512 << 10

// Read is what a session read.
type Read struct {
	// Session is the key of the session.
	Session string
	sallyport.ReadRecord
}

// readKey is what a session has one read of, the newest.
type readKey struct{ session, path string }

// pendingRead is a read that the state may not have yet. Later ones have greater
// numbers.
type pendingRead struct {
	Read
	number int64
}

// Store stores reads in their order, all of them or none.
type Store func(ctx context.Context, reads []Read) error

// Log is the reads of one process. It is safe for concurrent use.
type Log struct {
	dir  string
	most int

	// moving is held by the one who hands over. It is acquired before mu.
	moving sync.Mutex

	mu     sync.Mutex
	closed bool
	files  [2]*ownFile // nil before the first read
	// adding says which file is added to.
	adding int
	added  int64
	// now is what that file has, moved what the other one has: it is being handed
	// over, or was not when that was tried.
	now, moved map[readKey]pendingRead
	buf        []byte
}

// New returns the log of this process in a folder, of at most so many reads of
// different files. It makes nothing before the first read.
func New(dir string, most int) *Log {
	return &Log{dir: dir, most: most, now: map[readKey]pendingRead{}}
}

// ErrFull is a log that has to be moved before a read is added.
var ErrFull = errors.New("readlog: full")

var errClosed = &store.Error{Reason: store.ErrClosed}

// Add adds a read; first is true when the log was empty. The error is ErrFull when
// there is no room.
func (l *Log) Add(r *Read) (first bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false, errClosed
	}
	if err := l.openFiles(); err != nil {
		return false, err
	}
	l.buf = appendRead(l.buf[:0], r)
	file := l.files[l.adding]
	key := readKey{r.Session, r.Path}
	if _, ok := l.now[key]; !ok && len(l.now) >= l.most || file.size+int64(len(l.buf)) > maxBytes {
		return false, ErrFull
	}
	if err := file.append(l.buf); err != nil {
		return false, err
	}
	first = len(l.now) == 0
	l.added++
	l.now[key] = pendingRead{*r, l.added}
	return first, nil
}

func (l *Log) openFiles() error {
	if l.files[1] != nil {
		return nil
	}
	for i := range l.files {
		f, err := createFile(l.dir)
		if err != nil {
			return errors.Join(err, l.removeFiles())
		}
		l.files[i] = f
	}
	return nil
}

// Move hands over what there is. After an error it is still there. A log that is
// closed has nothing to hand over.
func (l *Log) Move(ctx context.Context, store Store) error {
	l.moving.Lock()
	defer l.moving.Unlock()
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return errClosed
	}
	return l.moveReads(ctx, store)
}

func (l *Log) moveReads(ctx context.Context, store Store) error {
	reads := l.beginMove()
	if len(reads) == 0 {
		return nil
	}
	if err := store(ctx, reads); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moved = nil
	return l.files[1-l.adding].empty()
}

// beginMove returns what is to be handed over, and has reads added to the other
// file from now on. When the move before failed, it is what that one had.
func (l *Log) beginMove() []Read {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.moved == nil && len(l.now) > 0 {
		l.moved, l.now = l.now, make(map[readKey]pendingRead, len(l.now))
		l.adding = 1 - l.adding
	}
	pending := slices.SortedFunc(maps.Values(l.moved), func(a, b pendingRead) int { return cmp.Compare(a.number, b.number) })
	reads := make([]Read, len(pending))
	for i := range pending {
		reads[i] = pending[i].Read
	}
	return reads
}

// Recall returns the last read of this process of a file of the session, found by
// path or by identity, unless it was made before a time.
func (l *Log) Recall(session, path, identity string, oldest time.Time) (last sallyport.ReadRecord, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var newest int64
	for _, reads := range [...]map[readKey]pendingRead{l.moved, l.now} {
		for _, r := range reads {
			if r.number > newest && r.Matches(session, path, identity, oldest) {
				last, ok, newest = r.ReadRecord, true, r.number
			}
		}
	}
	return last, ok
}

// Matches reports whether a read is one of a file of the session, found by path or
// by identity, and was not made before a time.
func (r *Read) Matches(session, path, identity string, oldest time.Time) bool {
	return r.Session == session && (r.Path == path || identity != "" && r.Identity == identity) && !r.Time.Before(oldest)
}

// Others returns what the files of all other processes have.
func (l *Log) Others() ([]Read, error) {
	names, err := listFiles(l.dir)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	names = slices.DeleteFunc(names, l.hasFile)
	l.mu.Unlock()
	var reads []Read
	for _, name := range names {
		found, err := readFile(filepath.Join(l.dir, name))
		if err != nil {
			return nil, err
		}
		reads = append(reads, found...)
	}
	return reads, nil
}

func (l *Log) hasFile(name string) bool {
	return slices.ContainsFunc(l.files[:], func(f *ownFile) bool { return f != nil && f.name == name })
}

// TakeOver moves what dead processes left.
func (l *Log) TakeOver(ctx context.Context, store Store) error {
	names, err := listFiles(l.dir)
	for _, name := range names {
		err = errors.Join(err, takeOverFile(ctx, filepath.Join(l.dir, name), store))
	}
	return err
}

func takeOverFile(ctx context.Context, path string, store Store) error {
	f, err := lockFile(path)
	if f == nil || err != nil {
		return err // its process lives
	}
	reads, err := readFile(path)
	if err == nil && len(reads) > 0 {
		err = store(ctx, reads)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return removeLocked(f, path)
}

// Close moves what there is and removes the files. What could not be moved stays,
// and a later process takes it over. Closing twice is safe.
func (l *Log) Close(ctx context.Context, store Store) error {
	l.moving.Lock()
	defer l.moving.Unlock()
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return nil
	}
	for range l.files { // the first may be one that failed before
		if err := l.moveReads(ctx, store); err != nil {
			return errors.Join(err, l.closeFiles())
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.removeFiles()
}

func (l *Log) closeFiles() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, f := range l.files {
		if f != nil {
			err = errors.Join(err, f.file.Close())
		}
		l.files[i] = nil
	}
	return err
}

func (l *Log) removeFiles() (err error) {
	for i, f := range l.files {
		if f != nil {
			err = errors.Join(err, f.remove(l.dir))
		}
		l.files[i] = nil
	}
	return err
}
