package sqlite

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
)

// A process that is asked often takes several admissions of a key at once, a lease,
// and hands them out without a transaction. Until the lease is settled, all of it
// counts as admitted. Then what was handed out is added, as admitted when the lease
// ended, which is no earlier than it was, and the rest is free again. So at each grant
// what counts is never less than what was handed out in the window before it, and no
// window holds more than its limit. A lease of a process that died is added as a
// whole.

// leasesSchema is the table of leases.
const leasesSchema = `
	CREATE TABLE limit_leases(
		id INTEGER NOT NULL,
		holder INTEGER NOT NULL,
		count INTEGER NOT NULL,
		expires INTEGER NOT NULL,
		PRIMARY KEY(id, holder)
	) STRICT, WITHOUT ROWID;
`

const (
	// limitLease is how long admissions may be handed out from a lease. A process
	// settles its own then; others do after twice the time.
	limitLease = 50 * time.Millisecond
	// leastLeased is the shortest window of which there are leases: the time of an
	// admission may be late by the length of a lease.
	leastLeased = 10 * time.Second
	// leasedShare is the part of what is left that a lease may take: one of so many.
	leasedShare = 8
	// mostLeased bounds a lease.
	mostLeased = 128
	// leaseTurns is how often a call that others' leases leave nothing looks again.
	leaseTurns = 12
)

// limitLeases is what one process holds of the admissions of all.
type limitLeases struct {
	mu   sync.Mutex
	held map[string]*heldLease
	// want is how many admissions a key used lately, so that the next lease has as
	// many.
	want map[string]wantedLease
}

type heldLease struct {
	limit       sallyport.RateLimit
	holder      int64
	count, used int
	from, until int64
}

type wantedLease struct {
	count int
	at    int64
}

// take hands out an admission of a lease.
func (k *limitLeases) take(key string, limit sallyport.RateLimit, now int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.held[key]
	if l == nil || l.limit != limit || l.used == l.count || now < l.from || now >= l.until {
		return false
	}
	l.used++
	return true
}

// end ends the lease of a key, from which nothing is handed out any more, and notes
// how many admissions a next one should have. It returns nil when there is none.
func (k *limitLeases) end(key string, now int64) *heldLease {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.held[key]
	delete(k.held, key)
	w := k.want[key]
	switch {
	case l != nil && l.used == l.count:
		w.count = min(2*l.count, mostLeased)
	case l != nil:
		w.count = l.used
	case now >= w.at && now-w.at < int64(limitLease):
		w.count = max(w.count, 2)
	default:
		w.count = 0
	}
	if w.at = now; k.want == nil || len(k.want) >= leasedMost {
		k.want = map[string]wantedLease{}
	}
	k.want[key] = w
	return l
}

func (k *limitLeases) wanted(key string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.want[key].count
}

// hold keeps a new lease. Of two that were taken at once it returns the older one.
func (k *limitLeases) hold(key string, l *heldLease) (older *heldLease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held = map[string]*heldLease{}
	}
	older = k.held[key]
	k.held[key] = l
	return older
}

// drop ends one lease, unless it has ended.
func (k *limitLeases) drop(key string, l *heldLease) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	held := k.held[key] == l
	if held {
		delete(k.held, key)
	}
	return held
}

// all ends every lease.
func (k *limitLeases) all() map[string]*heldLease {
	k.mu.Lock()
	defer k.mu.Unlock()
	held := k.held
	k.held = nil
	return held
}

// startLease keeps a lease that the state has, until it ends.
func (db *DB) startLease(key string, l *heldLease) {
	if older := db.leases.hold(key, l); older != nil {
		_ = db.settleLease(context.Background(), key, older)
	}
	time.AfterFunc(limitLease, func() {
		if db.leases.drop(key, l) {
			_ = db.settleLease(context.Background(), key, l)
		}
	})
}

// settleLease gives back what a lease has left. When that fails, others count all
// of it.
func (db *DB) settleLease(ctx context.Context, key string, l *heldLease) error {
	return db.inWriteTx(ctx, false, func(c *conn) error {
		k, err := c.readLimitRow(key)
		if err != nil || k.id == 0 {
			return err
		}
		return c.settleOwnLease(&k, l, db.o.Now().UnixNano())
	})
}

// settleLeases settles what is held when the store is closed.
func (db *DB) settleLeases() {
	ctx, cancel := context.WithTimeout(context.Background(), indexEnd)
	defer cancel()
	for key, l := range db.leases.all() {
		_ = db.settleLease(ctx, key, l)
	}
}

// settleOwnLease adds what a lease has handed out, unless another process has added
// all of it.
func (c *conn) settleOwnLease(k *limitRow, l *heldLease, now int64) error {
	n, err := c.exec(`DELETE FROM limit_leases WHERE id = ?1 AND holder = ?2`, k.id, l.holder)
	if err != nil || n == 0 {
		return err
	}
	return c.addAdmissions(k, l.limit, l.used, min(l.until, now), now)
}

// settleOldLeases adds the leases of processes that did not settle them, and returns
// how many admissions the others have, and when the first of these ends at the latest.
func (c *conn) settleOldLeases(k *limitRow, limit sallyport.RateLimit, now int64) (open int, ends int64, err error) {
	const late = int64(limitLease)
	old, last := 0, int64(0)
	err = c.query(`SELECT count, expires FROM limit_leases WHERE id = ?1`, []any{k.id}, func(s *sqlite3.Stmt) (bool, error) {
		// One that is far ahead is of before the clock was set back.
		if end := s.ColumnInt64(1) + late; end <= now || end > now+4*late {
			old += s.ColumnInt(0)
			last = max(last, s.ColumnInt64(1))
		} else {
			open += s.ColumnInt(0)
			if ends == 0 || end < ends {
				ends = end
			}
		}
		return true, nil
	})
	if err != nil || old == 0 {
		return open, ends, err
	}
	_, err = c.exec(`DELETE FROM limit_leases WHERE id = ?1 AND (expires + ?2 <= ?3 OR expires + ?2 > ?3 + 4 * ?2)`, k.id, late, now)
	if err != nil {
		return open, ends, err
	}
	return open, ends, c.addAdmissions(k, limit, old, min(last, now), now)
}

// addAdmissions adds admissions that were made up to a time at.
func (c *conn) addAdmissions(k *limitRow, limit sallyport.RateLimit, count int, at, now int64) error {
	if count == 0 {
		return nil
	}
	first := k.line.Count
	k.line = k.line.Add(count, at, now)
	_, err := c.exec(`WITH RECURSIVE n(i) AS (SELECT ?2 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?3)
		INSERT INTO admissions(id, number, time) SELECT ?1, i, ?4 FROM n`, k.id, first, k.line.Count, k.line.Last)
	if err != nil {
		return err
	}
	if oldest, ok := k.line.Nth(limit); ok {
		dropped, err := c.readInt(`SELECT max(time) FROM admissions WHERE id = ?1 AND number < ?2`, k.id, oldest)
		if err != nil {
			return err
		}
		k.line.Dropped = max(k.line.Dropped, dropped)
		_, err = c.exec(`DELETE FROM admissions WHERE id = ?1 AND number < ?2`, k.id, oldest)
		if err != nil {
			return err
		}
	}
	return c.writeLimitRow(k, limit, true)
}

// grantLease takes a lease for a key that was just admitted, when little of what is
// left goes for it; it returns nil otherwise.
func (c *conn) grantLease(k *limitRow, limit sallyport.RateLimit, count int, now int64) (*heldLease, error) {
	rest := limit
	rest.Requests -= leasedShare * count
	if count < 2 || limit.Window < leastLeased || rest.Requests < 1 {
		return nil, nil
	}
	nth, err := c.nthAdmission(k, rest)
	if err != nil {
		return nil, err
	}
	if _, wait := k.line.Step(rest, now, nth); wait > 0 {
		return nil, nil
	}
	l := &heldLease{holder: rand.Int64(), count: count, from: now, until: now + int64(limitLease)}
	_, err = c.exec(`INSERT INTO limit_leases(id, holder, count, expires) VALUES(?1, ?2, ?3, ?4)`, k.id, l.holder, l.count, l.until)
	return l, err
}
