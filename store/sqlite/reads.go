package sqlite

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
)

// Remember implements sallyport.ReadMemory. It does not wait for the disk:
// the death of the process loses nothing, a loss of power the last moments.
func (db *DB) Remember(ctx context.Context, session string, r sallyport.ReadRecord) error {
	now := db.o.Now()
	return db.inWriteTx(ctx, false, func(c *conn) error {
		if err := db.sweepExpired(c, now); err != nil {
			return err
		}
		renewed, err := db.renewRead(c, session, &r)
		if renewed || err != nil {
			return err
		}
		_, err = c.exec(`INSERT OR REPLACE INTO reads(session, path, identity, digest, time) VALUES(?1, ?2, ?3, ?4, ?5)`,
			blob(session), blob(r.Path), blob(r.Identity), r.Digest[:], r.Time.UnixNano())
		if err != nil {
			return err
		}
		return db.boundReads(c, session)
	})
}

// renewRead writes a read of the same file over the one before, which changes half
// as many pages as removing that and adding another. The oldest reads are removed
// in the order in which rows were added: only one of the newest stays in its place.
func (db *DB) renewRead(c *conn, session string, r *sallyport.ReadRecord) (renewed bool, err error) {
	newest := db.limits.Reads / boundShare
	if newest == 0 {
		return false, nil
	}
	n, err := c.exec(`UPDATE reads SET digest = ?4, time = ?5 WHERE session = ?1 AND path = ?2 AND identity = ?3
		AND id > (SELECT max(id) FROM reads) - ?6`,
		blob(session), blob(r.Path), blob(r.Identity), r.Digest[:], r.Time.UnixNano(), newest)
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

// Recall implements sallyport.ReadMemory.
func (db *DB) Recall(ctx context.Context, session, path, identity string) (r sallyport.ReadRecord, ok bool, err error) {
	oldest := db.o.Now().Add(-db.limits.ReadAge).UnixNano()
	err = db.runQueries(ctx, func(c *conn) error {
		return c.query(`
			SELECT path, identity, digest, time, id FROM reads WHERE session = ?1 AND path = ?2 AND time >= ?4
			UNION ALL
			SELECT path, identity, digest, time, id FROM reads
				WHERE session = ?1 AND identity = ?3 AND identity <> x'' AND time >= ?4
			ORDER BY time DESC, id DESC LIMIT 1`,
			[]any{blob(session), blob(path), blob(identity), oldest}, func(s *sqlite3.Stmt) (bool, error) {
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
