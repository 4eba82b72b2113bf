package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/audit"
)

const (
	sqlHead   = `SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1`
	sqlAppend = `INSERT INTO audit(seq, time, kind, call, tool, principal, denied, hash, body)
		VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`
	sqlColumns = `SELECT seq, time, kind, call, tool, principal, denied, hash, body FROM audit`

	// chunkRows and chunkBytes bound what one snapshot reads: a reader that
	// stops to write to a slow pipe holds no snapshot during the wait, which would
	// let the write-ahead log grow.
	chunkRows  = 512
	chunkBytes = 1 << 20
)

// errPruned ends a read that was overtaken.
var errPruned = errors.New("records were pruned while they were read: try again")

// Append implements audit.Store.
func (db *DB) Append(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	return db.inWriteTx(ctx, false, func(c *conn) error {
		head, err := c.readHead()
		if err != nil {
			return err
		}
		records, err := seal(head)
		if err != nil {
			return err
		}
		for i := range records {
			if records[i].Seq != head.Seq+1+int64(i) {
				return fmt.Errorf("sqlite: record %d does not follow record %d", records[i].Seq, head.Seq+int64(i))
			}
			if err := c.appendRecord(&records[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Sync implements audit.Store. It does not hold the writing connection: others
// commit while the disk writes what was committed before.
func (db *DB) Sync(ctx context.Context) error {
	switch {
	case db.isClosed():
		return errClosed
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return wrapError(db.log.sync())
}

// Full reports whether the disk has no room to speak of: less than 1 MiB. It is
// false where that cannot be told.
func (db *DB) Full() bool { return diskFull(db.path) }

func (c *conn) readHead() (h audit.Head, err error) {
	err = c.query(sqlHead, nil, func(s *sqlite3.Stmt) (bool, error) {
		h.Seq = s.ColumnInt64(0)
		copy(h.Hash[:], s.ColumnRawBlob(1))
		return false, nil
	})
	return h, err
}

// appendRecord binds by hand: it is the statement that every call waits for.
func (c *conn) appendRecord(r *audit.Record) error {
	s, err := c.preparedStmt(sqlAppend)
	if err != nil {
		return err
	}
	err = errors.Join(
		s.BindInt64(1, r.Seq), s.BindInt64(2, r.Time), s.BindText(3, string(r.Kind)), s.BindText(4, r.Call),
		s.BindText(5, r.Tool), s.BindText(6, r.Principal), s.BindBool(7, r.Denied), s.BindBlob(8, r.Hash[:]),
		s.BindRawText(9, r.Body))
	if err != nil {
		return err
	}
	return s.Exec()
}

// Read implements audit.Reader. It reads in chunks, each from a snapshot of
// its own; the records are a consistent chain all the same, because records
// are only added at one end and pruned at the other.
func (db *DB) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		r := chainReader{q: q, last: q.After}
		if q.After == 0 {
			// All: a number that no record can have is for Verify to find.
			r.last = math.MinInt64
		}
		for !r.done {
			var chunk []audit.Record
			err := db.inSnapshot(ctx, func(c *conn) (err error) {
				chunk, err = r.nextChunk(c)
				return err
			})
			for _, rec := range chunk {
				if !yield(rec, nil) {
					return
				}
			}
			if err != nil {
				yield(audit.Record{}, err)
				return
			}
		}
	}
}

// chainReader reads the chain in chunks: it is the state between two of them.
type chainReader struct {
	q audit.Query
	// last is the number of the last record read.
	last        int64
	began, done bool
}

func (r *chainReader) nextChunk(c *conn) ([]audit.Record, error) {
	where, args := whereClause(&r.q)
	switch {
	case r.began:
		first, err := c.readInt("SELECT min(seq) FROM audit")
		if err != nil {
			return nil, err
		}
		if first > r.last {
			return nil, errPruned
		}
	case r.q.Last > 0:
		args[0] = r.last
		if err := r.skipToLast(c, where, args); err != nil {
			return nil, err
		}
	}
	r.began = true
	args[0] = r.last
	var chunk []audit.Record
	size := 0
	sql := sqlColumns + where + fmt.Sprintf(" ORDER BY seq LIMIT %d", chunkRows)
	err := c.query(sql, args, func(s *sqlite3.Stmt) (bool, error) {
		rec := scanRecord(s)
		chunk = append(chunk, rec)
		r.last = rec.Seq
		size += len(rec.Body)
		return size < chunkBytes, nil
	})
	r.done = len(chunk) < chunkRows && size < chunkBytes
	return chunk, err
}

// skipToLast moves last to just before the newest q.Last records.
func (r *chainReader) skipToLast(c *conn, where string, args []any) error {
	first, err := c.readInt("SELECT ifnull(min(seq), 1) FROM (SELECT seq FROM audit"+where+
		fmt.Sprintf(" ORDER BY seq DESC LIMIT %d)", r.q.Last), args...)
	r.last = max(r.last, first-1)
	return err
}

// whereClause returns the WHERE clause of a query and its arguments, of which
// the first, the number after which to begin, is left to set.
func whereClause(q *audit.Query) (where string, args []any) {
	var b strings.Builder
	b.WriteString(" WHERE seq > ?1")
	args = append(args, nil)
	add := func(condition string, arg any) {
		args = append(args, arg)
		fmt.Fprintf(&b, condition, len(args))
	}
	if q.Call != "" {
		add(" AND call = ?%d", q.Call)
	}
	if q.Tool != "" {
		add(" AND tool = ?%d", q.Tool)
	}
	if q.Principal != "" {
		add(" AND principal = ?%d", q.Principal)
	}
	if !q.Since.IsZero() {
		add(" AND time >= ?%d", q.Since.UnixNano())
	}
	if q.Denied {
		b.WriteString(" AND denied <> 0")
	}
	return b.String(), args
}

// scanRecord copies a row. What is malformed in it does not match its hash
// afterwards, and Verify names it.
func scanRecord(s *sqlite3.Stmt) audit.Record {
	r := audit.Record{
		Seq: s.ColumnInt64(0), Time: s.ColumnInt64(1), Kind: kindOf(s.ColumnRawText(2)), Call: s.ColumnText(3),
		Tool: s.ColumnText(4), Principal: s.ColumnText(5), Denied: s.ColumnBool(6),
		Body: bytes.Clone(s.ColumnRawText(8)),
	}
	if hash := s.ColumnRawBlob(7); len(hash) == len(r.Hash) {
		copy(r.Hash[:], hash)
	}
	return r
}

// kindOf saves the copy of a known word.
func kindOf(text []byte) audit.Kind {
	switch k := audit.Kind(text); k {
	case audit.KindIntent:
		return audit.KindIntent
	case audit.KindOutcome:
		return audit.KindOutcome
	default:
		return k
	}
}

// Prune implements audit.Pruner. Pages that it frees go back to the disk.
func (db *DB) Prune(ctx context.Context, checkpoint audit.Record) error {
	err := db.inWriteTx(ctx, true, func(c *conn) error {
		found, err := c.readInt("SELECT count(*) FROM audit WHERE seq = ?1 AND hash = ?2", checkpoint.Seq, checkpoint.Hash[:])
		if err != nil {
			return err
		}
		if found == 0 {
			return fmt.Errorf("sqlite: record %d is not the one to cut at", checkpoint.Seq)
		}
		if _, err := c.exec("DELETE FROM audit WHERE seq <= ?1", checkpoint.Seq); err != nil {
			return err
		}
		return c.appendRecord(&checkpoint)
	})
	if err != nil {
		return err
	}
	return db.releaseFreePages(ctx)
}

func (db *DB) releaseFreePages(ctx context.Context) error {
	c, err := db.acquireWriter(ctx)
	if err != nil {
		return err
	}
	defer db.releaseWriter(c)
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	// Not prepared: the pragma works row by row until it is stepped through.
	return c.wrapError(ctx, c.Exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(PASSIVE)"))
}
