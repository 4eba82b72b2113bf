package sqlite

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// The use of an approval is in the record of its call's intent, with which it reaches
// the disk before the tool runs. The row of the approval is changed before that, so
// that of all processes one may use it, and does not wait for the disk. A loss of
// power, or an older file that is put back, may undo the row and not the record: what
// the record says beyond the index counts before anything is read of the table, and
// the index never passes a record whose uses the table does not have.

var _ approvals.Claimer = approvalStore{}

// recordedUses knows what of the approvals that this process uses is in the record.
type recordedUses struct {
	// applied is true once the table has what was recorded before this process
	// looked. What is recorded later has changed its row before.
	applied  atomic.Bool
	applying sync.Mutex

	open atomic.Int64 // how many claims there are
	mu   sync.Mutex
	// claims are the approvals whose use is not settled; true once it is in the record.
	claims map[string]bool
}

func (u *recordedUses) add(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.claims == nil {
		u.claims = map[string]bool{}
	}
	u.claims[id] = false
	u.open.Store(int64(len(u.claims)))
}

// end ends a claim and reports whether its use is in the record.
func (u *recordedUses) end(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	recorded := u.claims[id]
	delete(u.claims, id)
	u.open.Store(int64(len(u.claims)))
	return recorded
}

// see notes the uses that were added to the record.
func (u *recordedUses) see(added []audit.Record) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for i := range added {
		used := added[i].Used
		if used == nil {
			continue
		}
		for _, id := range used.Approvals {
			if _, ok := u.claims[id]; ok {
				u.claims[id] = true
			}
		}
	}
}

// Claim implements approvals.Claimer.
func (s approvalStore) Claim(ctx context.Context, id string) (settle func(recorded bool) error, ok bool, err error) {
	if ok, err = s.use(ctx, id, false); !ok {
		return nil, false, err
	}
	u := &s.db.uses
	u.add(id)
	return func(recorded bool) error {
		if u.end(id) && recorded {
			return nil
		}
		if s.db.isClosed() {
			return errClosed
		}
		return wrapError(s.db.log.sync())
	}, true, nil
}

// appendUses is Append while there are claims, which it may settle.
func (db *DB) appendUses(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	var added []audit.Record
	err := db.records.Append(ctx, func(head audit.Head) (list []audit.Record, err error) {
		added, err = seal(head)
		return added, err
	})
	if err != nil {
		return wrapError(err)
	}
	db.uses.see(added)
	db.wakeBehind()
	return nil
}

// usedRows gathers the approvals that some records say were used, for the table.
type usedRows []string

func (rows *usedRows) add(e *recordlog.Entry) {
	if used := e.FindUsed(); used != nil {
		*rows = append(*rows, used.Approvals...)
	}
}

// openApproval selects what another call could use, or a person decide.
const openApproval = ` WHERE id = ?1 AND state IN ('pending', 'approved')`

// store writes what was gathered, in a transaction.
func (rows usedRows) store(c *conn) error {
	for _, id := range rows {
		if _, err := c.exec(`UPDATE approvals SET state = 'used'`+openApproval, id); err != nil {
			return err
		}
	}
	return nil
}

// selectOpen returns those of the approvals whose use the table does not have.
func (rows usedRows) selectOpen(c *conn) (open usedRows, err error) {
	for _, id := range rows {
		n, err := c.readInt(`SELECT count(*) FROM approvals`+openApproval, id)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			open = append(open, id)
		}
	}
	return open, nil
}

// applyRecordedUses returns when the table has every use that was recorded before
// this process looked. It reads what the index has not passed, once.
func (db *DB) applyRecordedUses(ctx context.Context) error {
	u := &db.uses
	if u.applied.Load() {
		return nil
	}
	u.applying.Lock()
	defer u.applying.Unlock()
	for !u.applied.Load() {
		switch rows, err := db.readUses(ctx); {
		case errors.Is(err, recordlog.ErrPruned):
			continue // pruning indexes before
		case err != nil:
			return wrapError(err)
		case len(rows) > 0:
			if err := db.inWriteTx(ctx, false, rows.store); err != nil {
				return err
			}
		}
		u.applied.Store(true)
	}
	return nil
}

// readUses returns the uses that the record says beyond the index, and the table does
// not.
func (db *DB) readUses(ctx context.Context) (rows usedRows, err error) {
	if db.isClosed() {
		return nil, errClosed
	}
	if db.lost.Load() != nil {
		return nil, nil // it is not the record that the file knew
	}
	var m indexMark
	err = db.runQueries(ctx, func(c *conn) (err error) {
		m, _, err = c.readMark()
		return err
	})
	if err != nil {
		return nil, err
	}
	v, err := db.records.View(ctx)
	if err != nil {
		return nil, err
	}
	from, seq := m.at, m.Seq+1
	if from < v.First {
		from, seq = v.First, v.Checkpoint.Seq+1
	}
	for e, err := range db.records.Scan(ctx, &v, from, seq) {
		if err != nil {
			return nil, err
		}
		rows.add(&e)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	err = db.runQueries(ctx, func(c *conn) (err error) {
		rows, err = rows.selectOpen(c)
		return err
	})
	return rows, err
}
