package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/facts"
)

// factsSchema is the table of session facts: a row for each fact of a session,
// and one of the principal, whose session is empty.
const factsSchema = `
	CREATE TABLE facts(
		principal BLOB NOT NULL,
		session BLOB NOT NULL,
		fact TEXT NOT NULL,
		time INTEGER NOT NULL,
		tool BLOB NOT NULL,
		call BLOB NOT NULL,
		PRIMARY KEY(principal, session, fact)
	) STRICT, WITHOUT ROWID;
	CREATE INDEX facts_time ON facts(time);
`

// forgottenSchema is the number of the newest record when a principal's facts were
// forgotten: what it and those before say does not count.
const forgottenSchema = `
	CREATE TABLE facts_forgotten(
		principal BLOB PRIMARY KEY,
		seq INTEGER NOT NULL
	) STRICT, WITHOUT ROWID;
`

const (
	// oldFacts bounds the rows that are removed because they no longer count when a
	// call notes something, oldFactsIndexed when records are indexed: as many as those
	// can add.
	oldFacts        = 16
	oldFactsIndexed = 4 * indexRows
	// surplusSessions bounds the sessions that are forgotten at once, which is more than
	// were added: a file of an older version may have any number.
	surplusSessions = 4 * indexRows
)

// Facts returns what is kept of sessions and principals.
func (db *DB) Facts() sallyport.FactStore { return factStore{db} }

type factStore struct{ db *DB }

// Facts implements sallyport.FactStore.
func (f factStore) Facts(ctx context.Context, principal, session string) (marks []sallyport.FactMark, err error) {
	marks, _, err = f.db.lookUpFacts(ctx, principal, session, "")
	return marks, err
}

// listFacts returns what the table has of a principal and a session: of calls that
// noted it by its name, and of records by its digest.
func (c *conn) listFacts(principal, session string) (marks []sallyport.FactMark, forgotten int64, err error) {
	err = c.query(`SELECT session, fact, time, tool, call FROM facts WHERE principal = ?1 AND session IN (x'', ?2, ?3)`,
		[]any{blob(principal), blob(session), blob(facts.Digest(session))}, func(s *sqlite3.Stmt) (bool, error) {
			marks = addMark(marks, sallyport.FactMark{
				Session: len(s.ColumnRawBlob(0)) > 0, Fact: sallyport.Fact(s.ColumnText(1)), Time: time.Unix(0, s.ColumnInt64(2)),
				Tool: string(s.ColumnRawBlob(3)), CallID: string(s.ColumnRawBlob(4)),
			})
			return true, nil
		})
	if err == nil {
		forgotten, err = c.forgottenFacts(principal)
	}
	return marks, forgotten, err
}

func (c *conn) forgottenFacts(principal string) (seq int64, err error) {
	return c.readInt(`SELECT seq FROM facts_forgotten WHERE principal = ?1`, blob(principal))
}

// Note implements sallyport.FactStore, for calls whose record does not say what they
// bring: one transaction that no other process can come between. It does not wait
// for the disk: the death of the process loses nothing, a loss of power the last
// moments.
func (f factStore) Note(ctx context.Context, principal, session string, marks []sallyport.FactMark) (before []sallyport.FactMark, err error) {
	recorded, _, err := f.db.lookUpFacts(ctx, principal, session, "")
	if err != nil || len(marks) == 0 {
		return recorded, err
	}
	err = f.db.inWriteTx(ctx, false, func(c *conn) (err error) {
		if before, _, err = c.listFacts(principal, session); err != nil {
			return err
		}
		if err := c.forgetOldFacts(marks[0].Time, oldFacts); err != nil {
			return err
		}
		for i := range marks {
			if err := c.storeFact(principal, "", &marks[i]); err != nil {
				return err
			}
			if session == "" {
				continue
			}
			if err := c.storeFact(principal, session, &marks[i]); err != nil {
				return err
			}
		}
		return c.boundFacts(principal)
	})
	if err == nil {
		err = wrapError(f.db.records.PutStamp())
	}
	if err != nil {
		return nil, err
	}
	for _, m := range recorded {
		before = addMark(before, m)
	}
	return before, nil
}

func (c *conn) storeFact(principal, session string, m *sallyport.FactMark) error {
	_, err := c.exec(`INSERT INTO facts(principal, session, fact, time, tool, call) VALUES(?1, ?2, ?3, ?4, ?5, ?6)
		ON CONFLICT(principal, session, fact) DO UPDATE SET time = excluded.time, tool = excluded.tool, call = excluded.call
		WHERE excluded.time >= time`,
		blob(principal), blob(session), string(m.Fact), m.Time.UnixNano(), blob(m.Tool), blob(m.CallID))
	return err
}

// oldFactsQuery removes the oldest rows that were noted up to a time. An index finds each of
// them.
const oldFactsQuery = `DELETE FROM facts WHERE (principal, session, fact) IN
	(SELECT principal, session, fact FROM facts WHERE time <= ?1 ORDER BY time LIMIT %d)`

// forgetOldFacts removes the oldest rows that no longer count, up to a number.
func (c *conn) forgetOldFacts(now time.Time, most int) error {
	_, err := c.exec(withLimit(oldFactsQuery, most), now.Add(-sallyport.SessionFactAge).UnixNano())
	return err
}

// boundFacts forgets the sessions of a principal that were quiet longest when
// there are too many.
func (c *conn) boundFacts(principal string) error {
	count, err := c.readInt(`SELECT count(DISTINCT session) FROM facts WHERE principal = ?1 AND session <> x''`, blob(principal))
	if err != nil || count <= facts.MaxSessions {
		return err
	}
	_, err = c.exec(`DELETE FROM facts WHERE principal = ?1 AND session IN
		(SELECT session FROM facts WHERE principal = ?1 AND session <> x''
			GROUP BY session ORDER BY max(time), session LIMIT ?2)`, blob(principal), min(count-facts.MaxSessions, surplusSessions))
	return err
}

// Forget implements sallyport.FactStore: what was recorded until now does not count
// any more.
func (f factStore) Forget(ctx context.Context, principal string) (was bool, err error) {
	marks, _, err := f.db.lookUpFacts(ctx, principal, "", "")
	if err != nil {
		return false, err
	}
	v, err := f.db.records.View(ctx)
	if err != nil {
		return false, wrapError(err)
	}
	err = f.db.inWriteTx(ctx, true, func(c *conn) error {
		n, err := c.exec(`DELETE FROM facts WHERE principal = ?1`, blob(principal))
		if was = n > 0 || len(marks) > 0; err != nil || !was {
			return err
		}
		_, err = c.exec(`INSERT OR REPLACE INTO facts_forgotten(principal, seq) VALUES(?1, ?2)`, blob(principal), v.Head.Seq)
		return err
	})
	if err == nil {
		err = wrapError(f.db.records.PutStamp())
	}
	return was && err == nil, err
}
