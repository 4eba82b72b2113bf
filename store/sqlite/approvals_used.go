package sqlite

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// The use of an approval, or of a run of a rule, is in the record of its call's intent,
// with which it reaches the disk before the tool runs. The row that says it is changed
// before that, so that of all processes one has the use, and does not wait for the
// disk. A loss of power, or an older file that is put back, may undo the row and not
// the record: what the record says beyond the index counts before such a row is read,
// and the index never passes a record whose uses the rows do not have.

var (
	_ approvals.Claimer    = approvalStore{}
	_ approvals.RunClaimer = settingStore{}
)

// recordedUses knows what of the uses of this process is in the record.
type recordedUses struct {
	// applied is true once the rows have what was recorded before this process
	// looked. What is recorded later has changed its row before.
	applied  atomic.Bool
	applying sync.Mutex

	open atomic.Int64 // how many claims there are
	mu   sync.Mutex
	// claims are the uses that are not settled; true once one is in the record.
	claims map[any]bool // by the id of an approval, or a run
}

func (u *recordedUses) add(use any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.claims == nil {
		u.claims = map[any]bool{}
	}
	u.claims[use] = false
	u.open.Store(int64(len(u.claims)))
}

// end ends a claim and reports whether its use is in the record.
func (u *recordedUses) end(use any) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	recorded := u.claims[use]
	delete(u.claims, use)
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
			u.note(id)
		}
		for _, run := range used.Runs {
			u.note(run)
		}
	}
}

func (u *recordedUses) note(use any) {
	if _, ok := u.claims[use]; ok {
		u.claims[use] = true
	}
}

// Claim implements approvals.Claimer.
func (s approvalStore) Claim(ctx context.Context, id string) (settle func(recorded bool) error, ok bool, err error) {
	if ok, err = s.use(ctx, id, false); !ok {
		return nil, false, err
	}
	return s.db.beginClaim(id), true, nil
}

// ClaimRun implements approvals.RunClaimer. For the time of a lease others may still read
// the former number, which only shows it.
func (t settingStore) ClaimRun(ctx context.Context, rule string, most int) (run int, settle func(recorded bool) error, err error) {
	if err := t.db.applyRecordedUses(ctx); err != nil {
		return 0, nil, err
	}
	name := approvals.RunsSetting(rule)
	err = t.db.inWriteTx(ctx, false, func(c *conn) error {
		was, ok, err := c.readSetting(name)
		if err != nil {
			return err
		}
		var next string
		if run, next, err = approvals.NextRun(was, ok, most); err != nil || run == 0 {
			return err
		}
		return c.writeSetting(name, next)
	})
	if err != nil || run == 0 {
		return 0, nil, err
	}
	return run, t.db.beginClaim(approvals.RuleRun{Rule: rule, Run: run}), nil
}

// beginClaim begins a claim and returns what settles it.
func (db *DB) beginClaim(use any) (settle func(recorded bool) error) {
	db.uses.add(use)
	return func(recorded bool) error {
		if db.uses.end(use) && recorded {
			return nil
		}
		if db.isClosed() {
			return errClosed
		}
		return wrapError(db.log.sync())
	}
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

// usedRows gathers what some records say was used, for the rows that say it.
type usedRows approvals.Used

func (rows *usedRows) add(e *recordlog.Entry) {
	if used := e.FindUsed(); used != nil {
		rows.Approvals = append(rows.Approvals, used.Approvals...)
		rows.Runs = append(rows.Runs, used.Runs...)
	}
}

func (rows *usedRows) isEmpty() bool { return len(rows.Approvals)+len(rows.Runs) == 0 }

// storeUses writes what was gathered and the rows do not have, in a transaction.
func (rows *usedRows) storeUses(c *conn) error {
	missing, err := rows.selectMissing(c)
	if err != nil {
		return err
	}
	for _, id := range missing.Approvals {
		if _, err := c.exec(`UPDATE approvals SET state = 'used' WHERE id = ?1`, id); err != nil {
			return err
		}
	}
	for _, run := range missing.Runs {
		if err := c.writeSetting(approvals.RunsSetting(run.Rule), strconv.Itoa(run.Run)); err != nil {
			return err
		}
	}
	return nil
}

// selectMissing returns what the rows do not have: approvals that another call could
// use or a person decide, and the newest runs of rules that may still count.
func (rows *usedRows) selectMissing(c *conn) (missing usedRows, err error) {
	for _, id := range rows.Approvals {
		n, err := c.readInt(`SELECT count(*) FROM approvals WHERE id = ?1 AND state IN ('pending', 'approved')`, id)
		if err != nil {
			return missing, err
		}
		if n > 0 {
			missing.Approvals = append(missing.Approvals, id)
		}
	}
	newest := map[string]approvals.RuleRun{}
	for _, run := range rows.Runs {
		if run.Run > newest[run.Rule].Run {
			newest[run.Rule] = run
		}
	}
	if len(newest) == 0 {
		return missing, nil
	}
	rules, _, err := c.readSetting(approvals.RulesSetting)
	if err != nil {
		return missing, err
	}
	for _, run := range newest {
		runs, ok, err := c.readSetting(approvals.RunsSetting(run.Rule))
		if err != nil {
			return missing, err
		}
		if run.IsMissing(rules, runs, ok) {
			missing.Runs = append(missing.Runs, run)
		}
	}
	return missing, nil
}

// applyRecordedUses returns when the rows have every use that was recorded before
// this process looked. It reads what the index has not passed, once.
func (db *DB) applyRecordedUses(ctx context.Context) error {
	u := &db.uses
	if u.applied.Load() {
		return nil
	}
	u.applying.Lock()
	defer u.applying.Unlock()
	for !u.applied.Load() {
		switch missing, err := db.readUses(ctx); {
		case errors.Is(err, recordlog.ErrPruned):
			continue // pruning indexes before
		case err != nil:
			return wrapError(err)
		case !missing.isEmpty():
			if err := db.inWriteTx(ctx, false, missing.storeUses); err != nil {
				return err
			}
		}
		u.applied.Store(true)
	}
	return nil
}

// readUses returns the uses that the record says beyond the index, and the rows do
// not.
func (db *DB) readUses(ctx context.Context) (missing usedRows, err error) {
	if db.isClosed() {
		return missing, errClosed
	}
	if db.lost.Load() != nil {
		return missing, nil // it is not the record that the file knew
	}
	var m indexMark
	err = db.runQueries(ctx, func(c *conn) (err error) {
		m, _, err = c.readMark()
		return err
	})
	if err != nil {
		return missing, err
	}
	v, err := db.records.View(ctx)
	if err != nil {
		return missing, err
	}
	from, seq := m.at, m.Seq+1
	if from < v.First {
		from, seq = v.First, v.Checkpoint.Seq+1
	}
	var rows usedRows
	for e, err := range db.records.Scan(ctx, &v, from, seq) {
		if err != nil {
			return missing, err
		}
		rows.add(&e)
	}
	err = db.runQueries(ctx, func(c *conn) (err error) {
		missing, err = rows.selectMissing(c)
		return err
	})
	return missing, err
}
