package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/store"
)

// approvalsSchema is the table of held calls. The body holds what never
// changes, but for the rule that takes the place of a call. Of a digest one request at most is open, whatever a program does.
const approvalsSchema = `
	CREATE TABLE approvals(
		seq INTEGER PRIMARY KEY,
		id TEXT NOT NULL UNIQUE,
		digest TEXT NOT NULL,
		state TEXT NOT NULL,
		principal BLOB NOT NULL,
		expires INTEGER NOT NULL,
		decided INTEGER NOT NULL,
		decided_by BLOB NOT NULL,
		reason TEXT NOT NULL,
		body TEXT NOT NULL
	) STRICT;
	CREATE INDEX approvals_digest ON approvals(digest, seq);
	CREATE INDEX approvals_expires ON approvals(expires);
	CREATE UNIQUE INDEX approvals_open ON approvals(digest) WHERE state IN ('pending', 'approved');
	CREATE INDEX approvals_pending ON approvals(expires, principal) WHERE state = 'pending';
`

const (
	// approvalPoll is how often a waiting call looks for the decision of
	// another process: a person does not notice it, and a look takes some
	// twenty microseconds.
	approvalPoll = 200 * time.Millisecond
	// approvalAge is how long a request is kept after its expiry.
	approvalAge = 30 * 24 * time.Hour
	// maxApprovals bounds the requests that are kept although they are over.
	maxApprovals = 2000
)

// Approvals returns the held calls of this file.
func (db *DB) Approvals() sallyport.ApprovalStore { return approvalStore{db} }

type approvalStore struct{ db *DB }

func (s approvalStore) Ask(ctx context.Context, a sallyport.Approval) (sallyport.Approval, error) {
	if err := a.Check(); err != nil {
		return a, err
	}
	found := a
	err := s.inWriteTx(ctx, true, func(c *conn) error {
		now := s.db.o.Now()
		last, ok, err := c.findApproval(newestOfDigest, a.Digest)
		if err != nil {
			return err
		}
		newest := &last
		if !ok {
			newest = nil
		}
		expired, fresh := sallyport.NextApproval(newest, now)
		if expired {
			last.State = sallyport.ApprovalExpired
			if err := c.updateApproval(&last); err != nil {
				return err
			}
		}
		if !fresh {
			found = last
			return nil
		}
		found.State = sallyport.ApprovalPending
		return c.insertApproval(&found, now)
	})
	return found, err
}

// insertApproval inserts a new request unless too many are pending.
func (c *conn) insertApproval(a *sallyport.Approval, now time.Time) error {
	const count = "SELECT count(*) FROM approvals WHERE state = 'pending' AND expires > ?1"
	total, err := c.readInt(count, now.UnixNano())
	if err != nil {
		return err
	}
	own, err := c.readInt(count+" AND principal = ?2", now.UnixNano(), blob(a.Principal))
	if err != nil {
		return err
	}
	if own >= sallyport.MaxPendingApprovals || total >= sallyport.MaxPendingApprovalsTotal {
		return sallyport.ErrApprovalsFull
	}
	if err := c.sweepApprovals(now); err != nil {
		return err
	}
	body, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("sqlite: held call: %w", err)
	}
	_, err = c.exec(`INSERT INTO approvals(id, digest, state, principal, expires, decided, decided_by, reason, body)
		VALUES(?1, ?2, ?3, ?4, ?5, 0, ?6, '', ?7)`,
		a.ID, a.Digest, string(a.State), blob(a.Principal), a.Expires.UnixNano(), blob(""), string(body))
	return err
}

// sweepApprovals removes some of what is over: what is old, and the oldest of
// too many.
func (c *conn) sweepApprovals(now time.Time) error {
	_, err := c.exec(withLimit(`DELETE FROM approvals WHERE seq IN (SELECT seq FROM approvals WHERE expires < ?1 LIMIT %d)`, sweepRows),
		now.Add(-approvalAge).UnixNano())
	if err != nil {
		return err
	}
	_, err = c.exec(`DELETE FROM approvals WHERE seq <= (SELECT max(seq) FROM approvals) - ?1 AND expires <= ?2`,
		maxApprovals-1, now.UnixNano())
	return err
}

func (s approvalStore) Wait(ctx context.Context, id string) (sallyport.Approval, error) {
	return approvals.Await(ctx, &s.db.decided, approvalPoll, s.db.o.Now, func(ctx context.Context) (sallyport.Approval, error) {
		return s.Get(ctx, id)
	})
}

func (s approvalStore) Use(ctx context.Context, id string) (ok bool, err error) {
	return s.use(ctx, id, true)
}

// use consumes an approval, and with durable waits for the disk.
func (s approvalStore) use(ctx context.Context, id string, durable bool) (ok bool, err error) {
	err = s.inWriteTx(ctx, durable, func(c *conn) error {
		a, found, err := c.findApproval(`WHERE id = ?1`, id)
		if err != nil || !found || !a.Use(s.db.o.Now()) {
			return err
		}
		ok = true
		return c.updateApproval(&a)
	})
	if err != nil {
		return false, err
	}
	if ok {
		s.db.decided.Send()
	}
	return ok, nil
}

func (s approvalStore) List(ctx context.Context, all bool) (out []sallyport.Approval, err error) {
	now := s.db.o.Now()
	sql, args := approvalColumns+` ORDER BY seq`, []any(nil)
	if !all {
		sql = approvalColumns + ` WHERE state IN ('pending', 'approved') AND expires > ?1 ORDER BY seq`
		args = []any{now.UnixNano()}
	}
	err = s.runQueries(ctx, func(c *conn) error {
		out = nil
		return c.query(sql, args, func(row *sqlite3.Stmt) (bool, error) {
			a, err := scanApproval(row)
			a.State = a.StateAt(now)
			out = append(out, a)
			return true, err
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (s approvalStore) Get(ctx context.Context, id string) (a sallyport.Approval, err error) {
	err = s.runQueries(ctx, func(c *conn) (err error) {
		a, err = c.requireApproval(id)
		return err
	})
	a.State = a.StateAt(s.db.o.Now())
	return a, err
}

// runQueries runs fn once the table has what the record says.
func (s approvalStore) runQueries(ctx context.Context, fn func(c *conn) error) error {
	if err := s.db.applyRecordedUses(ctx); err != nil {
		return err
	}
	return s.db.runQueries(ctx, fn)
}

// inWriteTx is runQueries for a transaction, see DB.inWriteTx.
func (s approvalStore) inWriteTx(ctx context.Context, durable bool, fn func(c *conn) error) error {
	if err := s.db.applyRecordedUses(ctx); err != nil {
		return err
	}
	return s.db.inWriteTx(ctx, durable, fn)
}

func (s approvalStore) LatestDecided(ctx context.Context, digest string) (a sallyport.Approval, ok bool, err error) {
	err = s.runQueries(ctx, func(c *conn) (err error) {
		a, ok, err = c.findApproval(`WHERE digest = ?1 AND decided != 0 ORDER BY seq DESC LIMIT 1`, digest)
		return err
	})
	return a, ok, err
}

func (s approvalStore) Decide(ctx context.Context, id, by string, approve bool, reason string) error {
	return s.changeApproval(ctx, id, func(a *sallyport.Approval, now time.Time) error { return a.Decide(now, by, approve, reason) })
}

func (s approvalStore) YieldToRule(ctx context.Context, id, by, rule, reason string) error {
	return s.changeApproval(ctx, id, func(a *sallyport.Approval, now time.Time) error { return a.YieldToRule(now, by, rule, reason) })
}

// changeApproval changes a held call durably and wakes those who wait for it.
func (s approvalStore) changeApproval(ctx context.Context, id string, change func(a *sallyport.Approval, now time.Time) error) error {
	err := s.inWriteTx(ctx, true, func(c *conn) error {
		a, err := c.requireApproval(id)
		if err != nil {
			return err
		}
		if err := change(&a, s.db.o.Now()); err != nil {
			return err
		}
		return c.updateApproval(&a)
	})
	if err == nil {
		s.db.decided.Send()
	}
	return err
}

// newestOfDigest selects the newest request of a digest.
const newestOfDigest = `WHERE digest = ?1 ORDER BY seq DESC LIMIT 1`

const approvalColumns = `SELECT id, digest, state, principal, decided, decided_by, reason, body FROM approvals`

// scanApproval reads a row: what changes, and what is looked up, comes from
// the columns.
func scanApproval(row *sqlite3.Stmt) (a sallyport.Approval, err error) {
	if err := json.Unmarshal(row.ColumnRawText(7), &a); err != nil {
		return a, &store.Error{Reason: store.ErrDamaged, Err: err}
	}
	a.ID, a.Digest, a.State = row.ColumnText(0), row.ColumnText(1), sallyport.ApprovalState(row.ColumnText(2))
	a.Principal, a.DecidedBy, a.Reason = string(row.ColumnRawBlob(3)), string(row.ColumnRawBlob(5)), row.ColumnText(6)
	if ns := row.ColumnInt64(4); ns != 0 {
		a.Decided = time.Unix(0, ns).UTC()
	}
	return a, nil
}

func (c *conn) findApproval(where string, args ...any) (a sallyport.Approval, ok bool, err error) {
	err = c.query(approvalColumns+" "+where, args, func(row *sqlite3.Stmt) (_ bool, err error) {
		a, err = scanApproval(row)
		ok = err == nil
		return false, err
	})
	return a, ok, err
}

func (c *conn) requireApproval(id string) (sallyport.Approval, error) {
	a, ok, err := c.findApproval(`WHERE id = ?1`, id)
	if err == nil && !ok {
		err = sallyport.ErrApprovalUnknown
	}
	return a, err
}

func (c *conn) updateApproval(a *sallyport.Approval) error {
	decided := int64(0)
	if !a.Decided.IsZero() {
		decided = a.Decided.UnixNano()
	}
	_, err := c.exec(`UPDATE approvals SET state = ?2, decided = ?3, decided_by = ?4, reason = ?5 WHERE id = ?1`,
		a.ID, string(a.State), decided, blob(a.DecidedBy), a.Reason)
	if err == nil && a.Rule != "" {
		_, err = c.exec(`UPDATE approvals SET body = json_set(body, '$.rule', ?2) WHERE id = ?1`, a.ID, a.Rule)
	}
	return err
}
