// Package sqlfile opens the SQLite files of the program, all in the same way: deleted text
// is overwritten, a commit waits for the disk, sizes are bounded, and a connection waits
// for other processes that hold the file.
//
// Start with [OpenConn]. What a file holds, and when it is made, is the caller's.
package sqlfile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// pageBytes is the size of a page, which is the engine's default.
const pageBytes = 4096

// pragmas are set on every connection. What the file says of itself is not trusted.
const pragmas = `
PRAGMA synchronous=FULL;
PRAGMA secure_delete=ON;
PRAGMA temp_store=MEMORY;
PRAGMA trusted_schema=OFF;
PRAGMA cell_size_check=ON;
`

// Options bound a connection and its file.
type Options struct {
	// Create is true when a missing file is made.
	Create bool
	// Busy is how long the connection waits for another process that holds the file.
	Busy time.Duration
	// MaxBytes bounds the file; 0 means no bound but the disk's.
	MaxBytes int64
	// CacheKiB bounds the page cache of the connection.
	CacheKiB int
	// LogBytes is what the write-ahead log is cut back to, after it grew beyond it.
	LogBytes int64
	// KeepLog is true when the write-ahead log stays as the last process leaves, so that
	// its name is as durable as that of the file, and a short-lived process need not make it.
	KeepLog bool
	// Relaxed is true when commits do not wait for the disk: the newest of them may be lost
	// with the power, and the file stays whole.
	Relaxed bool
}

// OpenConn opens a connection to the file at path, or to one in memory for ":memory:". The
// path is no URI: no part of it is taken for an option. The caller closes the connection,
// which belongs to one goroutine at a time.
func OpenConn(ctx context.Context, path string, o *Options) (*sqlite3.Conn, error) {
	flags := sqlite3.OPEN_READWRITE
	if o.Create {
		flags |= sqlite3.OPEN_CREATE
	}
	c, err := sqlite3.OpenFlags(path, flags)
	if err != nil {
		return nil, err
	}
	if err := configureConn(ctx, c, o); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func configureConn(ctx context.Context, c *sqlite3.Conn, o *Options) error {
	if err := LimitWait(c, o.Busy); err != nil {
		return err
	}
	if o.KeepLog {
		if _, err := c.FileControl("main", sqlite3.FCNTL_PERSIST_WAL, true); err != nil {
			return err
		}
	}
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	if err := c.Exec(pragmas + fmt.Sprintf("PRAGMA cache_size=-%d;PRAGMA journal_size_limit=%d;", o.CacheKiB, o.LogBytes)); err != nil {
		return err
	}
	if o.Relaxed {
		if err := c.Exec("PRAGMA synchronous=NORMAL"); err != nil {
			return err
		}
	}
	if o.MaxBytes == 0 {
		return nil
	}
	return c.Exec(fmt.Sprintf("PRAGMA max_page_count=%d", max(o.MaxBytes/pageBytes, 1)))
}

// LimitWait sets how long a connection waits from now on for another process that holds the
// file.
func LimitWait(c *sqlite3.Conn, busy time.Duration) error {
	w := lockWait{most: busy}
	return c.BusyHandler(w.pauseOnce)
}

// EnterWAL switches the file to the write-ahead log. The engine does not wait for other
// processes when it does that, so that several first starts at once wait here.
func EnterWAL(ctx context.Context, c *sqlite3.Conn, busy time.Duration) error {
	w := lockWait{most: busy}
	for n := 0; ; n++ {
		err := c.Exec("PRAGMA journal_mode=WAL")
		if !errors.Is(err, sqlite3.BUSY) || !w.pauseOnce(ctx, n) {
			return err
		}
	}
}

// lockWait is one wait for another process that holds a lock.
type lockWait struct {
	most  time.Duration
	since time.Time
}

// pauseOnce waits and reports whether to try again. It polls, because locks of files have
// no queue: with long pauses, a process that commits without pause would starve all others.
func (w *lockWait) pauseOnce(ctx context.Context, count int) (retry bool) {
	if count == 0 {
		w.since = time.Now()
	}
	if time.Since(w.since) >= w.most {
		return false
	}
	const shortest, longest = 100 * time.Microsecond, 4 * time.Millisecond
	pause := min(shortest<<min(count, 16), longest)
	t := time.NewTimer(pause/2 + rand.N(pause))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
