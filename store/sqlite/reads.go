package sqlite

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store/internal/readlog"
)

const (
	// readsAlone is how many reads a process writes one by one: one that lives for a
	// few calls makes no files for them.
	readsAlone = 16
	// readsBehind bounds the reads of different files that are moved at once.
	readsBehind = 1024
)

// Remember implements sallyport.ReadMemory. It does not wait for the disk:
// the death of the process loses nothing, a loss of power the last moments.
// A process that reads often adds to a log of its own, whose reads are moved
// behind it.
func (db *DB) Remember(ctx context.Context, session string, r sallyport.ReadRecord) error {
	r.Time = r.Time.Round(0) // as the state has it: the clock may go back
	read := readlog.Read{Session: session, ReadRecord: r}
	if db.remembered.Load() >= readsAlone && db.logRead(ctx, &read) {
		return nil
	}
	db.remembered.Add(1)
	return db.storeReads(ctx, []readlog.Read{read})
}

// logRead adds a read to the log of this process; false means that it is to be
// stored at once.
func (db *DB) logRead(ctx context.Context, r *readlog.Read) bool {
	if db.isClosed() || ctx.Err() != nil || db.limits.Reads < boundShare {
		return false
	}
	first, err := db.reads.Add(r)
	if errors.Is(err, readlog.ErrFull) && db.reads.Move(ctx, db.storeReads) == nil {
		first, err = db.reads.Add(r)
	}
	if first {
		db.wakeBehind()
	}
	return err == nil
}

// moveReads moves what the log of this process has. What fails is moved later.
func (db *DB) moveReads() {
	if !db.o.readsKept {
		_ = db.reads.Move(context.Background(), db.storeReads)
	}
}

// moveReadsAtEnd moves what there is when the store is closed. What fails stays in
// the files of the log, and the next process that opens the state moves it.
func (db *DB) moveReadsAtEnd() {
	ctx, cancel := context.WithTimeout(context.Background(), db.o.Busy)
	defer cancel()
	_ = db.reads.Close(ctx, db.storeReads)
}

// openReads opens the log of this process, and moves what dead processes left. What
// cannot be moved is found where it is.
func (db *DB) openReads(ctx context.Context) {
	db.reads = readlog.New(db.path+logSuffix, min(readsBehind, db.limits.Reads/boundShare))
	_ = db.reads.TakeOver(ctx, db.storeReads)
}

func (db *DB) storeReads(ctx context.Context, reads []readlog.Read) error {
	now := db.o.Now()
	return db.inWriteTx(ctx, false, func(c *conn) error {
		if err := db.sweepExpired(c, now); err != nil {
			return err
		}
		for i := range reads {
			if err := db.storeRead(c, &reads[i], now); err != nil {
				return err
			}
		}
		return nil
	})
}

// storeRead stores a read unless another process stored a newer one of the same
// path. One of the future is none: the clock went back since.
func (db *DB) storeRead(c *conn, r *readlog.Read, now time.Time) error {
	newest := max(now.UnixNano(), r.Time.UnixNano())
	renewed, err := db.renewRead(c, r, newest)
	if renewed || err != nil {
		return err
	}
	// In two statements, neither of which the engine has to take back alone.
	_, err = c.exec(`DELETE FROM reads WHERE session = ?1 AND path = ?2 AND (time <= ?3 OR time > ?4)`,
		blob(r.Session), blob(r.Path), r.Time.UnixNano(), newest)
	if err != nil {
		return err
	}
	n, err := c.exec(`INSERT OR IGNORE INTO reads(session, path, identity, digest, time) VALUES(?1, ?2, ?3, ?4, ?5)`,
		blob(r.Session), blob(r.Path), blob(r.Identity), r.Digest[:], r.Time.UnixNano())
	if err != nil || n == 0 {
		return err
	}
	return db.boundReads(c, r.Session)
}

// renewRead writes a read of the same file over the one before, which changes half
// as many pages as removing that and adding another. The oldest reads are removed
// in the order in which rows were added: only one of the newest stays in its place.
func (db *DB) renewRead(c *conn, r *readlog.Read, newest int64) (renewed bool, err error) {
	near := db.limits.Reads / boundShare
	if near == 0 {
		return false, nil
	}
	n, err := c.exec(`UPDATE reads SET digest = ?4, time = ?5 WHERE session = ?1 AND path = ?2 AND identity = ?3
		AND id > (SELECT max(id) FROM reads) - ?6 AND (time <= ?5 OR time > ?7)`,
		blob(r.Session), blob(r.Path), blob(r.Identity), r.Digest[:], r.Time.UnixNano(), near, newest)
	return n > 0, err
}

// boundShare is the part of the reads of a session, one of so many, by which there
// may be more of them, or fewer of the newest.
const boundShare = 16

// boundReads removes the oldest reads of a session now and then. By chance,
// not by count: a process that lives for one call must do its share.
func (db *DB) boundReads(c *conn, session string) error {
	if every := db.limits.Reads / boundShare; every > 1 && rand.IntN(every) != 0 {
		return nil
	}
	_, err := c.exec(withLimit(`DELETE FROM reads WHERE id IN
		(SELECT id FROM reads WHERE session = ?1 ORDER BY id DESC LIMIT -1 OFFSET %d)`, db.limits.Reads),
		blob(session))
	return err
}

// Recall implements sallyport.ReadMemory. A read moves from a log to the file, so
// that it looks there last: it cannot miss one.
func (db *DB) Recall(ctx context.Context, session, path, identity string) (r sallyport.ReadRecord, ok bool, err error) {
	now := db.o.Now()
	oldest := now.Add(-db.limits.ReadAge)
	own, ok := db.reads.Recall(session, path, identity, oldest)
	others, err := db.reads.Others()
	if err != nil {
		return sallyport.ReadRecord{}, false, wrapError(err)
	}
	stored, found, err := db.recallStored(ctx, session, path, identity, oldest)
	if err != nil {
		return sallyport.ReadRecord{}, false, err
	}
	if found {
		others = append(others, readlog.Read{Session: session, ReadRecord: stored})
	}
	for i := range others {
		if o := &others[i]; o.Matches(session, path, identity, oldest) && (!ok || isNewer(o.Time, own.Time, now)) {
			own, ok = o.ReadRecord, true
		}
	}
	return own, ok, nil
}

// isNewer reports whether a read was made later than another. One of the future is
// older than any: the clock went back since.
func isNewer(a, b, now time.Time) bool {
	if a.After(now) != b.After(now) {
		return b.After(now)
	}
	return a.After(b)
}

func (db *DB) recallStored(ctx context.Context, session, path, identity string, oldest time.Time) (r sallyport.ReadRecord, ok bool, err error) {
	err = db.runQueries(ctx, func(c *conn) error {
		return c.query(`
			SELECT path, identity, digest, time, id FROM reads WHERE session = ?1 AND path = ?2 AND time >= ?4
			UNION ALL
			SELECT path, identity, digest, time, id FROM reads
				WHERE session = ?1 AND identity = ?3 AND identity <> x'' AND time >= ?4
			ORDER BY time DESC, id DESC LIMIT 1`,
			[]any{blob(session), blob(path), blob(identity), oldest.UnixNano()}, func(s *sqlite3.Stmt) (bool, error) {
				r = sallyport.ReadRecord{
					Path: string(s.ColumnRawBlob(0)), Identity: string(s.ColumnRawBlob(1)),
					Time: time.Unix(0, s.ColumnInt64(3)),
				}
				ok = copy(r.Digest[:], s.ColumnRawBlob(2)) == len(r.Digest)
				return false, nil
			})
	})
	if err != nil || !ok {
		return sallyport.ReadRecord{}, false, err
	}
	return r, true, nil
}
