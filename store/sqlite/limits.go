package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/window"
	"github.com/sallyport/sallyport/store"
)

// limitsSchema is the tables of this file: a row for each key, and a row for
// the time of each admission that may still decide, so that a step touches the
// same number of pages whatever the limit is.
const limitsSchema = `
	CREATE TABLE limits(
		id INTEGER PRIMARY KEY,
		key BLOB NOT NULL UNIQUE,
		count INTEGER NOT NULL,
		last INTEGER NOT NULL,
		ahead INTEGER NOT NULL,
		dropped INTEGER NOT NULL,
		expires INTEGER NOT NULL
	) STRICT;
	CREATE INDEX limits_expires ON limits(expires);

	CREATE TABLE admissions(
		id INTEGER NOT NULL,
		number INTEGER NOT NULL,
		time INTEGER NOT NULL,
		PRIMARY KEY(id, number)
	) STRICT, WITHOUT ROWID;
`

const (
	// surplusRows is how many times at most an admission removes that do not
	// count any more. One is the rule; more are left by a limit that became
	// smaller.
	surplusRows = 16
	// expiredKeys and expiredRows bound what is removed when a key is added,
	// to a millisecond or two.
	expiredKeys, expiredRows = 4, 500
	// expiryStep is how exactly the expiry of a key is kept, in nanoseconds,
	// so that its index is rarely written.
	expiryStep = int64(time.Hour)
)

// errLimitKeys is for the log.
var errLimitKeys = errors.New("too many keys of rate limits are in use")

type limitRow struct {
	id      int64
	line    window.Line
	expires int64
}

// Admit implements sallyport.Limiter: one transaction that no other process
// can come between, or an admission of a lease that such a transaction took. The
// death of the process loses nothing of what was
// admitted. It does not wait for the disk, but the next Sync does, with which a call
// that may change or reach anything waits for its intent. A loss of power may give
// others back the last moments. The error matches store.ErrFull when more keys are in use than the
// store counts.
func (db *DB) Admit(ctx context.Context, key string, limit sallyport.RateLimit) (wait time.Duration, err error) {
	if err := window.CheckCall(key, limit); err != nil {
		return 0, err
	}
	if ctx.Err() == nil && !db.isClosed() && db.leases.take(key, limit, db.o.Now().UnixNano()) {
		return 0, nil
	}
	for turn := 0; ; turn++ {
		wait, open, err := db.admitInTx(ctx, key, limit)
		if err != nil || wait == 0 || !open || turn == leaseTurns {
			return wait, err
		}
		// What others have leased may come back within moments.
		select {
		case <-time.After(2 * limitLease / leaseTurns):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// admitInTx admits one call. Open says that a refusal is due to what others have
// leased, and may end with that.
func (db *DB) admitInTx(ctx context.Context, key string, limit sallyport.RateLimit) (wait time.Duration, open bool, err error) {
	full := false
	own := db.leases.end(key, db.o.Now().UnixNano())
	var lease *heldLease
	err = db.inWriteTx(ctx, false, func(c *conn) (err error) {
		// The clock is read inside the transaction, so that the times of all
		// processes are in the order of their admissions.
		now := db.o.Now().UnixNano()
		k, err := c.readLimitRow(key)
		if err == nil && k.id == 0 {
			k.id, err = c.insertLimitRow(key, db.limits.LimitKeys, now)
		}
		if full = k.id == 0; err != nil || full {
			return err
		}
		if own != nil {
			if err := c.settleOwnLease(&k, own, now); err != nil {
				return err
			}
		}
		leased, ends, err := c.settleOldLeases(&k, limit, now)
		if err != nil {
			return err
		}
		left := limit
		if left.Requests -= leased; left.Requests < 1 {
			wait, open = time.Duration(ends-now), true
			return nil
		}
		wait, err = c.stepLimit(&k, left, limit, now)
		if open = wait > 0 && leased > 0; open {
			wait = min(wait, time.Duration(ends-now))
		}
		if err != nil || wait > 0 {
			return err
		}
		lease, err = c.grantLease(&k, left, db.leases.wanted(key), now)
		return err
	})
	switch {
	case err != nil:
		return 0, false, err
	case full:
		// What was removed to make room is, so that the next call finds some.
		return 0, false, &store.Error{Reason: store.ErrFull, Err: errLimitKeys}
	}
	db.admitted.Add(1)
	if lease != nil {
		lease.limit = limit
		db.startLease(key, lease)
	}
	return wait, open, nil
}

// stepLimit decides about a call, for which only a part of the limit may be left.
func (c *conn) stepLimit(k *limitRow, left, limit sallyport.RateLimit, now int64) (time.Duration, error) {
	nth, err := c.nthAdmission(k, left)
	if err != nil {
		return 0, err
	}
	next, wait := k.line.Step(left, now, nth)
	changed := next != k.line
	k.line = next
	if wait == 0 {
		if err := c.addAdmission(k.id, next, limit); err != nil {
			return 0, err
		}
	}
	return wait, c.writeLimitRow(k, limit, changed)
}

// writeLimitRow writes what has changed of a key.
func (c *conn) writeLimitRow(k *limitRow, limit sallyport.RateLimit, changed bool) error {
	if changed {
		_, err := c.exec(`UPDATE limits SET count = ?2, last = ?3, ahead = ?4, dropped = ?5 WHERE id = ?1`,
			k.id, k.line.Count, k.line.Last, k.line.Ahead, k.line.Dropped)
		if err != nil {
			return err
		}
	}
	// A limit that refuses may have a longer window than the last that
	// admitted: its key stays for it.
	expires := k.line.Expires(limit.Window)
	if expires <= k.expires {
		return nil
	}
	k.expires = expires + expiryStep
	_, err := c.exec(`UPDATE limits SET expires = ?2 WHERE id = ?1`, k.id, k.expires)
	return err
}

// readLimitRow returns the row of a key; its id is 0 when there is none.
func (c *conn) readLimitRow(key string) (k limitRow, err error) {
	err = c.query(`SELECT id, count, last, ahead, dropped, expires FROM limits WHERE key = ?1`, []any{blob(key)},
		func(s *sqlite3.Stmt) (bool, error) {
			k.id, k.expires = s.ColumnInt64(0), s.ColumnInt64(5)
			k.line = window.Line{
				Count: s.ColumnInt64(1), Last: s.ColumnInt64(2), Ahead: s.ColumnInt64(3), Dropped: s.ColumnInt64(4),
			}
			return false, nil
		})
	return k, err
}

// insertLimitRow adds a key and returns its id, 0 when there are too many.
func (c *conn) insertLimitRow(key string, most int, now int64) (id int64, err error) {
	if room, err := c.makeLimitRoom(most, now); err != nil || !room {
		return 0, err
	}
	_, err = c.exec(`INSERT INTO limits(key, count, last, ahead, dropped, expires) VALUES(?1, 0, 0, 0, 0, 0)`, blob(key))
	return c.LastInsertRowID(), err
}

// nthAdmission returns the time of the N-th newest admission.
func (c *conn) nthAdmission(k *limitRow, limit sallyport.RateLimit) (at int64, err error) {
	number, ok := k.line.Nth(limit)
	if !ok {
		return 0, nil
	}
	at = k.line.Dropped
	err = c.query(`SELECT time FROM admissions WHERE id = ?1 AND number = ?2`, []any{k.id, number},
		func(s *sqlite3.Stmt) (bool, error) {
			at = s.ColumnInt64(0)
			return false, nil
		})
	return at, err
}

// addAdmission keeps the time of the newest admission and removes those that
// do not count any more.
func (c *conn) addAdmission(id int64, line window.Line, limit sallyport.RateLimit) error {
	_, err := c.exec(`INSERT INTO admissions(id, number, time) VALUES(?1, ?2, ?3)`, id, line.Count-1, line.Last)
	if err != nil {
		return err
	}
	if oldest, ok := line.Nth(limit); ok {
		_, err = c.exec(withLimit(`DELETE FROM admissions WHERE id = ?1 AND number IN
			(SELECT number FROM admissions WHERE id = ?1 AND number < ?2 ORDER BY number LIMIT %d)`, surplusRows),
			id, oldest)
	}
	return err
}

// makeLimitRoom removes some keys that expired and reports whether there may be
// one more. A key that may still count is never removed for another one.
func (c *conn) makeLimitRoom(most int, now int64) (room bool, err error) {
	for range expiredKeys {
		more, err := c.forgetExpiredLimit(now)
		if err != nil {
			return false, err
		}
		if !more {
			break
		}
	}
	n, err := c.readInt(`SELECT count(*) FROM limits`)
	return n < int64(most), err
}

// forgetExpiredLimit removes one key that expired, or some of its times when there
// are many. more is false when no other key has expired.
func (c *conn) forgetExpiredLimit(now int64) (more bool, err error) {
	id, err := c.readInt(`SELECT id FROM limits WHERE expires <= ?1 ORDER BY expires LIMIT 1`, now)
	if err != nil || id == 0 {
		return false, err
	}
	// A principal that comes back takes the newest time for those that are
	// gone.
	if _, err := c.exec(`UPDATE limits SET dropped = last WHERE id = ?1`, id); err != nil {
		return false, err
	}
	n, err := c.exec(withLimit(`DELETE FROM admissions WHERE id = ?1 AND number IN
		(SELECT number FROM admissions WHERE id = ?1 ORDER BY number LIMIT %d)`, expiredRows), id)
	if err != nil || n == expiredRows {
		return false, err
	}
	for _, table := range [...]string{`DELETE FROM limit_leases WHERE id = ?1`, `DELETE FROM limits WHERE id = ?1`} {
		if _, err := c.exec(table, id); err != nil {
			return false, err
		}
	}
	return true, nil
}

// settleAdmissions brings to the disk what was admitted until now.
func (db *DB) settleAdmissions() error {
	n := db.admitted.Load()
	if db.settledAdmits.Load() >= n {
		return nil
	}
	if err := db.log.sync(); err != nil {
		return err
	}
	db.settledAdmits.Store(n) // one who is late stores less, and waits once more than needed
	return nil
}
