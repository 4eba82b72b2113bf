package sqlite

import (
	"context"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// Check reads the whole file, compares every index with its table, and the index
// of the record with the record. The error matches store.ErrDamaged when they do
// not agree. Verifying the chain reads the records only; this finds a change in
// what is used to search them.
func (db *DB) Check(ctx context.Context) error {
	err := db.runQueries(ctx, func(c *conn) error {
		return c.query("PRAGMA integrity_check(1)", nil, func(s *sqlite3.Stmt) (bool, error) {
			if s.ColumnText(0) != "ok" {
				return false, &store.Error{Reason: store.ErrDamaged}
			}
			return true, nil
		})
	})
	if err != nil {
		return err
	}
	return db.checkIndex(ctx)
}

// indexRow is a row of the index.
type indexRow struct {
	seq, at, time int64
	indexKeys
	denied bool
}

func rowOf(r *audit.Record, at recordlog.Position) indexRow {
	return indexRow{r.Seq, int64(at), r.Time, keysOf(r), r.Denied}
}

// checkIndex compares the index with the record as far as it goes.
func (db *DB) checkIndex(ctx context.Context) error {
	r := reading{db: db, q: &audit.Query{}}
	if err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.readMark(ctx); err != nil {
		return err
	}
	var rows []indexRow
	for e, err := range db.records.Scan(ctx, &r.v, r.v.First, r.v.Checkpoint.Seq+1) {
		if err != nil {
			return wrapError(err)
		}
		if e.Seq > r.mark.Seq {
			break
		}
		if len(rows) == 0 {
			if rows, err = db.indexRows(ctx, e.Seq); err != nil {
				return err
			}
		}
		// A record that is damaged is for a verification to name.
		if len(rows) == 0 || rows[0] != rowOf(&e.Record, e.At) && len(e.Body) > 0 {
			return &store.Error{Reason: store.ErrDamaged}
		}
		rows = rows[1:]
	}
	return nil
}

// indexRows returns rows of the index from a number on.
func (db *DB) indexRows(ctx context.Context, from int64) (rows []indexRow, err error) {
	rows = make([]indexRow, 0, searchRows)
	err = db.runQueries(ctx, func(c *conn) error {
		const sql = `SELECT seq, at, time, call, tool, principal, denied FROM records WHERE seq >= ?1 ORDER BY seq LIMIT 512`
		return c.query(sql, []any{from}, func(s *sqlite3.Stmt) (bool, error) {
			k := indexKeys{s.ColumnInt64(3), s.ColumnInt64(4), s.ColumnInt64(5)}
			rows = append(rows, indexRow{s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnInt64(2), k, s.ColumnBool(6)})
			return true, nil
		})
	})
	return slices.Clip(rows), err
}
