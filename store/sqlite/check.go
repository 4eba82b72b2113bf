package sqlite

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/store"
)

// Check reads the whole file and compares every index with its table. The
// error matches store.ErrDamaged when they do not agree. Verifying the chain
// reads the records only; this finds a change in what is used to search them.
func (db *DB) Check(ctx context.Context) error {
	return db.runQueries(ctx, func(c *conn) error {
		return c.query("PRAGMA integrity_check(1)", nil, func(s *sqlite3.Stmt) (bool, error) {
			if s.ColumnText(0) != "ok" {
				return false, &store.Error{Reason: store.ErrDamaged}
			}
			return true, nil
		})
	})
}
