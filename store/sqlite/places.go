package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
)

// placesSchema is the table of the places in which tools may write, or could.
const placesSchema = `
	CREATE TABLE write_places(
		path BLOB PRIMARY KEY,
		by TEXT NOT NULL,
		first INTEGER NOT NULL,
		last INTEGER NOT NULL
	) STRICT, WITHOUT ROWID;
`

// WritePlaces implements sallyport.PlaceLedger.
func (db *DB) WritePlaces(ctx context.Context) (places []sallyport.WritePlace, err error) {
	err = db.runQueries(ctx, func(c *conn) error {
		return c.query(`SELECT path, by, first, last FROM write_places ORDER BY path`, nil, func(s *sqlite3.Stmt) (bool, error) {
			places = append(places, sallyport.WritePlace{
				Path: string(s.ColumnRawBlob(0)), By: s.ColumnText(1),
				First: time.Unix(0, s.ColumnInt64(2)), Last: time.Unix(0, s.ColumnInt64(3)),
			})
			return true, nil
		})
	})
	return places, err
}

// KeepWritePlaces implements sallyport.PlaceLedger.
func (db *DB) KeepWritePlaces(ctx context.Context, places []sallyport.WritePlace) error {
	return db.inWriteTx(ctx, true, func(c *conn) error {
		for i := range places {
			p := &places[i]
			if _, err := c.exec(`INSERT INTO write_places(path, by, first, last) VALUES(?1, ?2, ?3, ?4)
				ON CONFLICT(path) DO UPDATE SET by = excluded.by, last = excluded.last`,
				blob(p.Path), p.By, p.First.UnixNano(), p.Last.UnixNano()); err != nil {
				return err
			}
		}
		count, err := c.readInt("SELECT count(*) FROM write_places")
		if err == nil && count > sallyport.MaxWritePlaces {
			err = fmt.Errorf("sqlite: more than %d write places: forget some", sallyport.MaxWritePlaces)
		}
		return err
	})
}

// ForgetWritePlace implements sallyport.PlaceLedger.
func (db *DB) ForgetWritePlace(ctx context.Context, path string) (found bool, err error) {
	return db.execDurable(ctx, `DELETE FROM write_places WHERE path = ?1`, blob(path))
}
