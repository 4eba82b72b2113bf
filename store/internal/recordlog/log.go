package recordlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/store"
)

const (
	lockName    = "lock"
	idSize      = 16
	defaultBusy = 5 * time.Second
	// keepBuffer is how large a buffer may be to be used again, in bytes.
	keepBuffer = 1 << 20
)

// ID names a log, so that no other is taken for it.
type ID [idSize]byte

// NewID returns the name of a new log.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // which does not fail
	return id
}

// MarshalText writes the id in hex.
func (id ID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(idSize) {
		return errors.New("recordlog: an id has 32 digits")
	}
	_, err := hex.Decode(id[:], text)
	return err
}

// Position is a place in a log: later records stand at greater ones. The zero
// Position is none.
type Position int64

func placeAt(segment, offset int64) Position { return Position(segment<<32 | offset) }

func (p Position) segment() int64 { return int64(p >> 32) }
func (p Position) offset() int64  { return int64(p) & 0xFFFFFFFF }

// Options refine a Log. nil means the defaults.
type Options struct {
	// Busy is how long a writer waits for another process; 0 means 5 seconds.
	Busy time.Duration
	// MaxBytes bounds all segments together; 0 means no bound but the disk's.
	MaxBytes int64

	// first and largest are sizes of segments for tests; 0 means the constants.
	first, largest int64
	// filling is called by tests when a full segment is written and not yet on
	// the disk.
	filling func()
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Busy = cmp.Or(d.Busy, defaultBusy)
	d.first, d.largest = cmp.Or(d.first, firstSegment), cmp.Or(d.largest, largestSegment)
	return d
}

// Log is an open log. It is safe for concurrent use, also by several processes
// that have the folder open.
type Log struct {
	dir  string
	id   ID
	o    Options
	lock *os.File
	// locked is which file that is.
	locked os.FileInfo

	// writing is held by the one of this process that has the lock of the folder:
	// the system gives it to a file, which all of them share. It is acquired
	// before mu, which guards what follows and is free while a batch is sealed.
	writing sync.Mutex
	// keep is guarded by writing, unless it says otherwise.
	keep keeping

	mu     sync.Mutex
	closed bool
	tail   tail
	// lost is the error of a write that may or may not be on the disk.
	lost error
	// unmarked is true when this log has added records since the last mark.
	unmarked bool
	buf      []byte
	parts    []part
	// see is called with each record that the tail passes, see Watch, shown the
	// number of the last; nil when it is not watched.
	see   func(*audit.Record)
	shown int64

	// ahead is the newest segment that was made before its time, making the work
	// that does it.
	ahead  int64
	making sync.WaitGroup
}

// Create makes a log without records in a folder that does not exist yet. Of
// records that were pruned before, a checkpoint stands for them; the zero one is
// none.
func Create(dir string, id ID, checkpoint *audit.Record, o *Options) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	l := &Log{dir: dir, id: id, o: o.withDefaults()}
	s, err := l.prepareSegment(1, 0)
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	b := base{Version: baseVersion, ID: id, First: placeAt(1, 0), Clean: true}
	if checkpoint.Seq != 0 {
		b.setCheckpoint(checkpoint)
	}
	err = errors.Join(lock.Close(), s.file.Close(), writeBase(dir, &b))
	if err != nil {
		return err
	}
	return fsx.SyncDir(filepath.Dir(dir))
}

// Open opens the log of a folder. Hint is a place near the end where a frame
// begins, or 0. The error matches store.ErrDamaged when the folder has no log or
// another one than id.
func Open(dir string, id ID, hint Position, o *Options) (*Log, error) {
	l := &Log{dir: dir, id: id, o: o.withDefaults()}
	// The place is covered from tools by its name, so no link may lead elsewhere.
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		return nil, damaged(fmt.Sprintf("its record, %s, is no folder", filepath.Base(dir)))
	}
	b, err := readBase(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, damaged(fmt.Sprintf("its record, %s, is not there", filepath.Base(dir)))
	}
	if err != nil {
		return nil, err
	}
	if b.ID != id {
		return nil, damaged(filepath.Base(dir) + " is the record of another state")
	}
	if l.lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0); errors.Is(err, fs.ErrNotExist) {
		return nil, damaged("the lock of its record is not there")
	} else if err != nil {
		return nil, err
	}
	if l.locked, err = l.lock.Stat(); err != nil {
		return nil, errors.Join(err, l.lock.Close())
	}
	if err = l.findTail(&b, hint, false); err != nil {
		// What another process does to the log may be the reason.
		l.retire(l.tail.seg)
		err = l.findTailLocked(hint)
	}
	if err != nil {
		l.retire(l.tail.seg)
		return nil, errors.Join(err, l.lock.Close())
	}
	if !b.Clean {
		err = l.withTail(context.Background(), l.finishPruning)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// ReadID returns the id of the log of a folder.
func ReadID(dir string) (ID, error) {
	b, err := readBase(dir)
	return b.ID, err
}

// Close brings what this log has added to the disk, notes that it is there,
// and releases the files. Closing twice is safe.
func (l *Log) Close() error {
	l.mu.Lock()
	closed, pending := l.closed, l.unmarked && l.lost == nil
	l.mu.Unlock()
	if closed {
		return nil
	}
	var err error
	if pending {
		if err = l.Sync(); err == nil {
			err = l.withTail(context.Background(), l.appendMark)
		}
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.making.Wait()
	l.writing.Lock()
	defer l.writing.Unlock()
	l.keep.kept.Store(false) // closing the file unlocks it
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retire(l.tail.seg)
	return errors.Join(err, l.lock.Close())
}

var errClosed = &store.Error{Reason: store.ErrClosed}

// usable reports why nothing can be added.
func (l *Log) usable() error {
	if l.closed {
		return errClosed
	}
	return l.lost
}

// withLock runs do with the lock of the folder and without the mutex, at the end
// of the log.
func (l *Log) withLock(ctx context.Context, do func() error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if err := l.checkUsable(); err != nil {
		return err
	}
	if err := l.acquireLock(ctx); err != nil {
		return err
	}
	return l.runLocked(do)
}

// runLocked runs do at the end of the log and leaves the lock of the folder, which
// the caller has acquired. While the lock is kept no other process moves that end.
func (l *Log) runLocked(do func() error) error {
	keep := false
	defer func() { l.leaveLock(keep) }()
	if !l.keep.kept.Load() {
		if err := l.goToEnd(); err != nil {
			return err
		}
	}
	err := do()
	keep = err == nil
	return err
}

// goToEnd moves the tail to the end of the log, whose folder is locked.
func (l *Log) goToEnd() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkLock(); err != nil {
		return err
	}
	return l.follow(true)
}

// checkLock fails, and from now on all does, when the lock is another file than
// the one that this log holds: another process would take that one, and both
// write the same number.
func (l *Log) checkLock() error {
	if l.lost != nil {
		return l.lost
	}
	there, err := os.Lstat(filepath.Join(l.dir, lockName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(l.locked, there) {
		l.lost = damaged("the folder of its record was removed or exchanged while it was in use")
	}
	return l.lost
}

func (l *Log) checkUsable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usable()
}

// withTail is withLock with the mutex.
func (l *Log) withTail(ctx context.Context, do func() error) error {
	return l.withLock(ctx, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		return do()
	})
}

// Sync returns when everything that was added before, by any process, is on the
// disk. Others add records at the same time. After an error no later call
// succeeds: the system forgets what it could not write.
func (l *Log) Sync() error {
	if err := l.checkUsable(); err != nil {
		return err
	}
	if err := l.catchUp(context.Background()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if err := l.checkLock(); err != nil {
		return err
	}
	return l.syncTail()
}

// syncTail brings the newest segment to the disk: those before it are there. The
// caller holds the mutex, which is free during the wait.
func (l *Log) syncTail() error {
	if l.lost != nil {
		return l.lost
	}
	seg, upTo := l.tail.seg, l.tail.head.Seq
	if l.tail.synced >= upTo {
		return nil
	}
	seg.users++
	l.mu.Unlock()
	err := fsx.SyncData(seg.file)
	l.mu.Lock()
	seg.users--
	if seg.retired && seg.users == 0 {
		_ = seg.file.Close()
	}
	if err != nil {
		l.lost = cmp.Or(l.lost, err)
		return l.lost
	}
	l.tail.synced = max(l.tail.synced, upTo)
	return l.lost
}

// retire closes a segment when no sync needs it any more.
func (l *Log) retire(s *segment) {
	if s == nil || s.retired {
		return
	}
	if s.retired = true; s.users == 0 {
		_ = s.file.Close()
	}
}
