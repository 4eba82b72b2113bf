package sqlite

import (
	"github.com/ncruces/go-sqlite3"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// indexMark says which log a file has and how far it is indexed.
type indexMark struct {
	log recordlog.ID
	audit.Head
	// at is the place behind the newest record that is indexed.
	at recordlog.Position
}

// readMark returns the mark; ok is false before the file has a log.
func (c *conn) readMark() (m indexMark, ok bool, err error) {
	err = c.query(`SELECT log, seq, hash, at FROM record_log`, nil, func(s *sqlite3.Stmt) (bool, error) {
		ok = copy(m.log[:], s.ColumnRawBlob(0)) == len(m.log)
		m.Seq, m.at = s.ColumnInt64(1), recordlog.Position(s.ColumnInt64(3))
		copy(m.Hash[:], s.ColumnRawBlob(2))
		return false, nil
	})
	return m, ok, err
}

func (c *conn) writeMark(m *indexMark) error {
	_, err := c.exec(`INSERT OR REPLACE INTO record_log(id, log, seq, hash, at) VALUES(1, ?1, ?2, ?3, ?4)`,
		m.log[:], m.Seq, m.Hash[:], int64(m.at))
	return err
}

