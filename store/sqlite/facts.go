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

// oldFacts bounds what is removed when something is kept.
const oldFacts = 16

// Facts returns what is kept of sessions and principals.
func (db *DB) Facts() sallyport.FactStore { return factStore{db} }

type factStore struct{ db *DB }

func (f factStore) Facts(ctx context.Context, principal, session string) (marks []sallyport.FactMark, err error) {
	err = f.db.runQueries(ctx, func(c *conn) (err error) {
		marks, err = c.listFacts(principal, session)
		return err
	})
	return marks, err
}

func (c *conn) listFacts(principal, session string) (marks []sallyport.FactMark, err error) {
	err = c.query(`SELECT session, fact, time, tool, call FROM facts WHERE principal = ?1 AND session IN (x'', ?2)`,
		[]any{blob(principal), blob(session)}, func(s *sqlite3.Stmt) (bool, error) {
			marks = append(marks, sallyport.FactMark{
				Session: len(s.ColumnRawBlob(0)) > 0, Fact: sallyport.Fact(s.ColumnText(1)), Time: time.Unix(0, s.ColumnInt64(2)),
				Tool: string(s.ColumnRawBlob(3)), CallID: string(s.ColumnRawBlob(4)),
			})
			return true, nil
		})
	return marks, err
}

func (c *conn) forgottenFacts(principal string) (seq int64, err error) {
	return c.readInt(`SELECT seq FROM facts_forgotten WHERE principal = ?1`, blob(principal))
}

// Note implements sallyport.FactStore: one transaction that no other process
// can come between. It does not wait for the disk: the death of the process
// loses nothing, a loss of power the last moments.
func (f factStore) Note(ctx context.Context, principal, session string, marks []sallyport.FactMark) (before []sallyport.FactMark, err error) {
	err = f.db.inWriteTx(ctx, false, func(c *conn) (err error) {
		if before, err = c.listFacts(principal, session); err != nil || len(marks) == 0 {
			return err
		}
		if err := c.forgetOldFacts(marks[0].Time); err != nil {
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
	if err != nil {
		return nil, err
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

// forgetOldFacts removes some rows that no longer count.
func (c *conn) forgetOldFacts(now time.Time) error {
	_, err := c.exec(withLimit(`DELETE FROM facts WHERE (principal, session, fact) IN
		(SELECT principal, session, fact FROM facts WHERE time < ?1 ORDER BY time LIMIT %d)`, oldFacts),
		now.Add(-sallyport.SessionFactAge).UnixNano())
	return err
}

// boundFacts forgets the session of a principal that was quiet longest when
// there are too many.
func (c *conn) boundFacts(principal string) error {
	count, err := c.readInt(`SELECT count(DISTINCT session) FROM facts WHERE principal = ?1 AND session <> x''`, blob(principal))
	if err != nil || count <= facts.MaxSessions {
		return err
	}
	_, err = c.exec(`DELETE FROM facts WHERE principal = ?1 AND session =
		(SELECT session FROM facts WHERE principal = ?1 AND session <> x''
			GROUP BY session ORDER BY max(time) LIMIT 1)`, blob(principal))
	return err
}

func (f factStore) Forget(ctx context.Context, principal string) (was bool, err error) {
	return f.db.execDurable(ctx, `DELETE FROM facts WHERE principal = ?1`, blob(principal))
}
