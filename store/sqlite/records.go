package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

const (
	// logSuffix names the folder of the record, beside the file.
	logSuffix = "-log"
	// newSuffix names that folder until the file knows it.
	newSuffix = ".new"
	// takeOverRows is how many records of an older file are copied at once.
	takeOverRows = 512
)

// recordsSchema is the index of the record. The record itself is in the folder;
// in a file of an older version it was in the table audit.
//
// record_log names the record and says how far it is indexed: the number and hash
// of the newest record that is, and the place behind it. All of these are on the
// disk. Names are hashed, so that rows are short and hold nothing that was
// pruned; newest is the latest time up to a record, which never falls.
const recordsSchema = `
	CREATE TABLE record_log(
		id INTEGER PRIMARY KEY CHECK(id = 1),
		log BLOB NOT NULL,
		seq INTEGER NOT NULL,
		hash BLOB NOT NULL,
		at INTEGER NOT NULL
	) STRICT;
	CREATE TABLE records(
		seq INTEGER PRIMARY KEY,
		at INTEGER NOT NULL,
		time INTEGER NOT NULL,
		newest INTEGER NOT NULL,
		call INTEGER NOT NULL,
		tool INTEGER NOT NULL,
		principal INTEGER NOT NULL,
		denied INTEGER NOT NULL
	) STRICT;
	CREATE INDEX records_call ON records(call);
	CREATE INDEX records_tool ON records(tool);
	CREATE INDEX records_principal ON records(principal);
	CREATE INDEX records_both ON records(principal, tool);
	CREATE INDEX records_denied ON records(denied) WHERE denied = 1;
	CREATE INDEX records_denied_tool ON records(tool) WHERE denied = 1;
	CREATE INDEX records_denied_principal ON records(principal) WHERE denied = 1;
	DROP TABLE audit;
`

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

// openRecord opens the log of the record, and makes it when the file has none.
func (db *DB) openRecord(ctx context.Context, c *conn) error {
	folder := db.path + logSuffix
	m, ok, err := c.readMark()
	if err == nil && !ok {
		m, err = db.makeRecord(ctx, c, folder)
	}
	if err == nil {
		err = finishFolder(ctx, c, folder, m.log)
	}
	if err == nil {
		db.records, err = recordlog.Open(folder, m.log, m.at, &recordlog.Options{Busy: db.o.Busy, MaxBytes: db.o.MaxBytes})
	}
	if err != nil {
		return c.wrapError(ctx, err)
	}
	if err := db.compareMark(ctx, &m, c); err != nil {
		return wrapError(errors.Join(err, db.records.Close()))
	}
	return nil
}

// makeRecord makes the log of a file that has none.
func (db *DB) makeRecord(ctx context.Context, c *conn, folder string) (m indexMark, err error) {
	err = c.inWriteTx(ctx, true, func(c *conn) (err error) {
		var ok bool
		if m, ok, err = c.readMark(); err != nil || ok {
			return err
		}
		if err := refuseFolder(folder); err != nil {
			return err
		}
		m.log = recordlog.NewID()
		if err := createFolder(folder, m.log, new(audit.Record)); err != nil {
			return err
		}
		return c.writeMark(&m)
	})
	return m, err
}

// refuseFolder refuses to begin a record where another one is.
func refuseFolder(folder string) error {
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &store.Error{Reason: store.ErrDamaged, Err: &recordlog.Damage{Why: filepath.Base(folder) + " is the record of another state file: put that file back, or move the folder away"}}
}

// createFolder makes a log under the name that it has until the file knows it. What
// a process that was killed left there is nothing that any file knows.
func createFolder(folder string, id recordlog.ID, checkpoint *audit.Record) error {
	if err := os.RemoveAll(folder + newSuffix); err != nil {
		return err
	}
	return recordlog.Create(folder+newSuffix, id, checkpoint, nil)
}

// finishFolder gives the folder that the file knows its name.
func finishFolder(ctx context.Context, c *conn, folder string, id recordlog.ID) error {
	fresh := folder + newSuffix
	if _, err := os.Lstat(fresh); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return c.inWriteTx(ctx, false, func(*conn) error {
		if have, err := recordlog.ReadID(fresh); err != nil || have != id {
			return nil // another process was first, or it is a rest that no file knows
		}
		if err := os.Rename(fresh, folder); err != nil {
			return err
		}
		return fsx.SyncDir(filepath.Dir(folder))
	})
}

// takeOver moves the records of an older file into a log. It runs in the
// transaction that drops their table: until its end they are in the file, and
// afterwards in the log. It returns nil when there are none.
func (c *conn) takeOver(ctx context.Context) (*indexMark, error) {
	first, rows, err := c.oldRecords(-1 << 63)
	if err != nil || first == nil {
		return nil, err
	}
	folder := c.path + logSuffix
	if err := refuseFolder(folder); err != nil {
		return nil, err
	}
	m, checkpoint := indexMark{log: recordlog.NewID()}, audit.Record{}
	if first.Kind == audit.KindCheckpoint {
		checkpoint, rows = *first, rows[1:]
		m.Head = checkpoint.Head()
	}
	if err := createFolder(folder, m.log, &checkpoint); err != nil {
		return nil, err
	}
	l, err := recordlog.Open(folder+newSuffix, m.log, 0, &recordlog.Options{Busy: c.busy})
	if err != nil {
		return nil, err
	}
	for len(rows) > 0 && err == nil {
		last := rows[len(rows)-1].Seq
		if err = l.Import(ctx, rows); err == nil {
			_, rows, err = c.oldRecords(last)
		}
	}
	if err == nil {
		err = l.Sync()
	}
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	return &m, nil
}

// oldRecords returns some records of an older file with greater numbers.
func (c *conn) oldRecords(after int64) (first *audit.Record, rows []audit.Record, err error) {
	sql := fmt.Sprintf(`SELECT seq, time, kind, call, tool, principal, denied, hash, body FROM audit WHERE seq > ?1 ORDER BY seq LIMIT %d`, takeOverRows)
	err = c.query(sql, []any{after}, func(s *sqlite3.Stmt) (bool, error) {
		rows = append(rows, scanRecord(s))
		return true, nil
	})
	if len(rows) > 0 {
		first = &rows[0]
	}
	return first, rows, err
}

// scanRecord copies a row. What is malformed in it does not match its hash
// afterwards, and Verify names it.
func scanRecord(s *sqlite3.Stmt) audit.Record {
	r := audit.Record{
		Seq: s.ColumnInt64(0), Time: s.ColumnInt64(1), Kind: audit.Kind(s.ColumnText(2)), Call: s.ColumnText(3),
		Tool: s.ColumnText(4), Principal: s.ColumnText(5), Denied: s.ColumnBool(6),
		Body: bytes.Clone(s.ColumnRawText(8)),
	}
	if hash := s.ColumnRawBlob(7); len(hash) == len(r.Hash) {
		copy(r.Hash[:], hash)
	}
	return r
}
