package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// ShortLog returns options with which the log is emptied every few writes.
func ShortLog() *Options { return &Options{logPages: 8} }

// NoIndex returns options with which nothing is indexed unless a reader needs it.
func NoIndex() *Options { return &Options{unindexed: true} }

// KeepReads returns options with which reads are moved by MoveReads, at a bound and at
// the end alone.
func KeepReads() *Options { return &Options{readsKept: true} }

// LogReads has the next read added to the log.
func (db *DB) LogReads() { db.remembered.Store(readsAlone) }

// MoveReads moves what the log of reads has.
func (db *DB) MoveReads(ctx context.Context) error { return db.reads.Move(ctx, db.storeReads) }

// StoredReads counts the reads that the file has.
func (db *DB) StoredReads(t testing.TB) (n int64) {
	t.Helper()
	err := db.runQueries(t.Context(), func(c *conn) (err error) {
		n, err = c.readInt("SELECT count(*) FROM reads")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// FactRows returns what the table of facts has of a principal, of all for the empty one.
func (db *DB) FactRows(t testing.TB, principal string) (rows []string) {
	t.Helper()
	err := db.runQueries(t.Context(), func(c *conn) error {
		return c.query(`SELECT principal || ' ' || hex(session) || ' ' || fact || ' ' || time || ' ' || call FROM facts WHERE ?1 IN (x'', principal) ORDER BY 1`,
			[]any{blob(principal)}, func(s *sqlite3.Stmt) (bool, error) {
				rows = append(rows, s.ColumnText(0))
				return true, nil
			})
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// FactPlan returns how the engine finds the facts that are old.
func (db *DB) FactPlan(t testing.TB) (plan string) {
	t.Helper()
	err := db.runQueries(t.Context(), func(c *conn) error {
		return c.query("EXPLAIN QUERY PLAN "+withLimit(oldFactsQuery, 1), []any{int64(0)}, func(s *sqlite3.Stmt) (bool, error) {
			plan += s.ColumnText(3) + "\n"
			return true, nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// IndexAll indexes the record up to its end.
func (db *DB) IndexAll(ctx context.Context) error { return db.indexAll(ctx) }

// OldSchema makes a file of the version before the log of the record.
func OldSchema() string {
	return fmt.Sprintf("PRAGMA application_id=%d;CREATE TABLE migrations(version INTEGER PRIMARY KEY, applied INTEGER NOT NULL) STRICT;", applicationID) +
		strings.Join(migrations[:recordsVersion-1], "") + "INSERT INTO migrations VALUES(4, 0);"
}

// IndexByRecords gives the file the index that it had before it had blocks.
func (db *DB) IndexByRecords(t testing.TB) {
	t.Helper()
	_, old, _ := strings.Cut(recordsSchema, "CREATE TABLE records(")
	old, _, _ = strings.Cut(old, "DROP TABLE audit")
	v, err := db.records.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = db.inWriteTx(t.Context(), true, func(c *conn) error {
		err := c.Exec("DROP TABLE record_blocks; DROP TABLE record_names; DELETE FROM migrations WHERE version > 7; CREATE TABLE records(" + old)
		var newest int64
		for e, scanErr := range db.records.Scan(t.Context(), &v, v.First, v.Checkpoint.Seq+1) {
			newest = max(newest, e.Time)
			_, insertErr := c.exec(`INSERT INTO records(seq, at, time, newest, call, tool, principal, denied) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`,
				e.Seq, int64(e.At), e.Time, newest, digestName(e.Call), digestName(e.Tool), digestName(e.Principal), int(map[bool]int64{true: 1}[e.Denied]))
			err = errors.Join(err, scanErr, insertErr)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// LoseLeases forgets what the store has leased, as the death of its process does, and
// returns how many admissions that were.
func (db *DB) LoseLeases() (n int) {
	for _, l := range db.leases.all() {
		n += l.count
	}
	return n
}

// AdmissionsSettled reports whether all that was admitted is on the disk.
func (db *DB) AdmissionsSettled() bool { return db.settledAdmits.Load() == db.admitted.Load() }

// LeaseTime is how long others wait for a lease.
const LeaseTime = 2 * limitLease

// LogLimit is what the log is cut back to, in bytes.
const LogLimit = walLimit

// LoseWriteAheadLog has every wait for the write-ahead log fail from now on.
func (db *DB) LoseWriteAheadLog(err error) {
	db.log.mu.Lock()
	defer db.log.mu.Unlock()
	db.log.lost = err
}
