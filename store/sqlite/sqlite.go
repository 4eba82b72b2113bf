// Package sqlite keeps state in one SQLite file that several processes may
// use at once: the key-value stores, what sessions have read, the program's own
// settings, and an index of the audit records. The records themselves are in a
// folder beside the file, an append-only log, and so is what a process read lately.
//
// Start with [Open]. The file and its companions (-wal, -shm) are created
// with mode 0600, missing directories and the folder of the records (-log) with
// 0700. Who copies or moves the file takes the folder with it. What was acknowledged
// survives the death of the process; key-value writes, settings and the audit
// records before a [DB.Sync] survive a loss of power too. Other records of the
// last moments may be lost then, and remembered reads, which makes a
// stale-write check less strict and nothing else.
//
// Errors are those of package store: no text of the driver leaves this
// package.
package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/internal/readlog"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

const (
	// defaultBusy is how long a writer waits for another process. A commit
	// takes a millisecond; a wait of seconds means that the other process hangs.
	defaultBusy = 5 * time.Second
	// maxReaders bounds the connections beside the writer's.
	maxReaders = 3
	// cacheKiB bounds the page cache of a connection. The working set is the
	// right edge of the chain and a few keys; the kernel caches the rest.
	cacheKiB = 512
	// walLimit is what the write-ahead log is cut back to, in bytes, after
	// it grew beyond it: what it has when it is emptied in time, so that the
	// disk need not find room for it again.
	walLimit = 16 << 20
)

// Options refine a DB. nil means the defaults.
type Options struct {
	// Limits bounds what is kept.
	Limits store.Limits
	// Busy is how long a write waits for another process that holds the
	// file, before it fails with store.ErrLocked; 0 means 5 seconds.
	Busy time.Duration
	// MaxBytes bounds the file, in bytes, and the records, too; a write beyond it
	// fails with store.ErrFull. 0 means no bound but the disk's.
	MaxBytes int64
	// Now is the clock of expiry; nil means time.Now.
	Now func() time.Time
	// Logger receives what no caller waits for: that the write-ahead log
	// cannot be emptied; nil discards it.
	Logger *slog.Logger

	// unindexed is for tests: only readers index.
	unindexed bool
	// readsKept is for tests: reads are moved when a test does it, at a bound, and at
	// the end.
	readsKept bool
	// logPages and indexPause are for tests; 0 means the constants.
	logPages   int
	indexPause time.Duration
}

// DB is an open state file. It implements store.State, store.DamageChecker and
// store.FullReporter. It is safe for concurrent use, also by several processes
// that have the file open.
type DB struct {
	path   string
	limits store.Limits
	o      Options

	// writer holds the one connection that writes; the receiver owns
	// it. nil stands for one that has to be opened again.
	writer chan *conn
	log    logSyncer
	// records holds the record; the file has an index of it.
	records *recordlog.Log
	// lost is the head that the record had and has no more; nil when it is whole.
	lost atomic.Pointer[audit.Head]
	// behind wakes who works behind the writers, rested is closed when they are
	// gone.
	behind chan struct{}
	rested chan struct{}
	// unsettled is true when the write-ahead log has something that no writer
	// waited for.
	unsettled atomic.Bool
	// grown wakes who empties the log, settled is closed when they are gone.
	grown   chan struct{}
	settled chan struct{}
	// readers holds a token for each further connection that may be open,
	// idle those that are not in use: opening one costs a hundred reads.
	readers chan struct{}
	idle    chan *conn

	closing   chan struct{}
	closeOnce sync.Once
	closeErr  error
	swept     atomic.Int64
	decided   approvals.Signal // of held calls
	uses      recordedUses

	settings answerLeases[string, string]
	tokens   answerLeases[string, auth.Record] // by hash
	switches answerLeases[struct{}, []auth.Switch]

	// reads has what this process read lately, remembered counts the reads that it
	// stored one by one.
	reads      *readlog.Log
	remembered atomic.Int64

	facts  recordFacts
	leases limitLeases
	// admitted counts the transactions of rate limits, settledAdmits those of them
	// that are on the disk.
	admitted, settledAdmits atomic.Uint64
}

var (
	_ store.State         = (*DB)(nil)
	_ store.DamageChecker = (*DB)(nil)
	_ store.FullReporter  = (*DB)(nil)
)

// Open opens the state file at path and creates or migrates it when needed.
// The errors match store.ErrDamaged, store.ErrForeign, store.ErrNewer,
// store.ErrLocked, store.ErrFull or store.ErrUnwritable and name the path;
// nothing is overwritten then. The caller closes the DB.
func Open(ctx context.Context, path string, o *Options) (*DB, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Busy < 0 || opts.MaxBytes < 0 {
		return nil, errors.New("sqlite: options: busy and max bytes must not be negative")
	}
	limits, err := opts.Limits.WithDefaults()
	if err != nil {
		return nil, fmt.Errorf("sqlite: options: %w", err)
	}
	opts.Busy = cmp.Or(opts.Busy, defaultBusy)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	opts.logPages = cmp.Or(opts.logPages, logPages)
	opts.indexPause = cmp.Or(opts.indexPause, indexPause)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db := &DB{
		path: path, limits: limits, o: opts,
		writer: make(chan *conn, 1), readers: make(chan struct{}, maxReaders), idle: make(chan *conn, maxReaders),
		closing: make(chan struct{}), log: logSyncer{path: path + "-wal"},
		grown: make(chan struct{}, 1), settled: make(chan struct{}),
		behind: make(chan struct{}, 1), rested: make(chan struct{}),
	}
	if err := db.open(ctx); err != nil {
		return nil, fmt.Errorf("%w: %s%s", err, path, errorDetail(err))
	}
	go db.runCheckpointer()
	go db.runBehind()
	return db, nil
}

func (db *DB) open(ctx context.Context) error {
	if _, err := os.Lstat(db.path); errors.Is(err, fs.ErrNotExist) {
		if err := refuseFolder(db.path + logSuffix); err != nil {
			return err
		}
	}
	if err := prepareFiles(ctx, db.path); err != nil {
		return wrapError(err)
	}
	c, err := db.openConn(ctx, false)
	if err != nil {
		return err
	}
	if err = c.migrateSchema(ctx); err == nil {
		err = wrapError(makeCompanionsPrivate(db.path))
	}
	if err == nil {
		err = db.openRecord(ctx, c)
	}
	if err != nil {
		_ = c.close()
		return err
	}
	db.writer <- c
	db.openReads(ctx)
	return nil
}

// Path returns the absolute path of the file. Its companions have the same
// path with a suffix.
func (db *DB) Path() string { return db.path }

// Close waits for what is under way and closes the file. Everything fails
// with store.ErrClosed afterwards. Closing twice is safe.
func (db *DB) Close() error {
	db.closeOnce.Do(func() {
		db.settleLeases()
		db.moveReadsAtEnd()
		db.indexAtEnd()
		close(db.closing)
		<-db.settled
		<-db.rested
		db.closeErr = wrapError(db.records.Close())
		for tokens := 0; tokens < maxReaders; {
			select {
			case db.readers <- struct{}{}:
				tokens++
			case c := <-db.idle:
				db.closeErr = errors.Join(db.closeErr, c.close())
				<-db.readers
			}
		}
		if c := <-db.writer; c != nil {
			db.closeErr = errors.Join(db.closeErr, c.close())
		}
		db.closeErr = errors.Join(db.closeErr, wrapError(db.log.closeFile()))
	})
	return db.closeErr
}

var errClosed = &store.Error{Reason: store.ErrClosed}

func (db *DB) isClosed() bool {
	select {
	case <-db.closing:
		return true
	default:
		return false
	}
}

func (db *DB) acquireWriter(ctx context.Context) (*conn, error) {
	if db.isClosed() {
		return nil, errClosed
	}
	select {
	case c := <-db.writer:
		if c != nil {
			return c, nil
		}
		c, err := db.openConn(ctx, false)
		if err != nil {
			db.writer <- nil
		}
		return c, err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-db.closing:
		return nil, errClosed
	}
}

// releaseWriter releases the connection; one in a doubtful state is closed and
// opened again by the next writer.
func (db *DB) releaseWriter(c *conn) {
	if c.broken {
		_ = c.close()
		_ = db.log.closeFile()
		c = nil
	}
	db.writer <- c
}

// inWriteTx runs fn in a write transaction. With durable it returns only when
// the commit reached the disk. After an error nothing of it is kept.
func (db *DB) inWriteTx(ctx context.Context, durable bool, fn func(c *conn) error) error {
	c, err := db.acquireWriter(ctx)
	if err != nil {
		return err
	}
	defer db.releaseWriter(c)
	if err := c.inWriteTx(ctx, durable, fn); err != nil {
		return err
	}
	if !durable && !db.unsettled.Swap(true) {
		db.wakeBehind()
	}
	return nil
}

// execDurable runs one statement, waits for the disk, and reports whether the
// statement changed a row.
func (db *DB) execDurable(ctx context.Context, sql string, args ...any) (changed bool, err error) {
	err = db.inWriteTx(ctx, true, func(c *conn) error {
		n, err := c.exec(sql, args...)
		changed = n > 0
		return err
	})
	return changed && err == nil, err
}

// runQueries runs fn on a connection. Each query of fn has a snapshot of its own.
func (db *DB) runQueries(ctx context.Context, fn func(c *conn) error) error {
	return db.withReader(ctx, func(c *conn) error { return c.runQueries(ctx, fn) })
}

// inSnapshot runs fn on a connection on which all its queries see one state.
func (db *DB) inSnapshot(ctx context.Context, fn func(c *conn) error) error {
	return db.withReader(ctx, func(c *conn) error { return c.inSnapshot(ctx, fn) })
}

// withReader runs fn with a connection to read from.
func (db *DB) withReader(ctx context.Context, fn func(c *conn) error) error {
	if db.isClosed() {
		return errClosed
	}
	// An idle writer serves a reader too: a process that makes one call
	// never opens a second connection.
	select {
	case c := <-db.idle:
		return db.withIdleReader(c, fn)
	case c := <-db.writer:
		if c != nil {
			defer db.releaseWriter(c)
			return fn(c)
		}
		db.writer <- nil
	default:
	}
	select {
	case c := <-db.idle:
		return db.withIdleReader(c, fn)
	case db.readers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-db.closing:
		return errClosed
	}
	c, err := db.openConn(ctx, true)
	if err != nil {
		<-db.readers
		return err
	}
	return db.withIdleReader(c, fn)
}

// withIdleReader runs fn with a reading connection and keeps the connection for the
// next reader. Its token goes back when the connection is closed.
func (db *DB) withIdleReader(c *conn, fn func(c *conn) error) error {
	defer func() {
		if !c.broken && !db.isClosed() {
			db.idle <- c // there is room for as many as there are tokens
			return
		}
		_ = c.close()
		<-db.readers
	}()
	return fn(c)
}
