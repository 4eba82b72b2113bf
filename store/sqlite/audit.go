package sqlite

import (
	"context"
	"fmt"
	"iter"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// Append implements audit.Store.
func (db *DB) Append(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	if err := db.checkRecord(); err != nil {
		return err
	}
	if db.uses.open.Load() > 0 {
		return db.appendUses(ctx, seal)
	}
	if err := db.records.Append(ctx, seal); err != nil {
		return wrapError(err)
	}
	db.wakeBehind()
	return nil
}

// TryAppend is [DB.Append] that waits for nothing: where another writes the record,
// or the use of an approval is to be in it, it reports false and calls nothing. An
// [audit.Log] that has nothing else to commit uses it.
func (db *DB) TryAppend(seal func(audit.Head) ([]audit.Record, error)) (tried bool, err error) {
	if db.uses.open.Load() > 0 {
		return false, nil
	}
	if err := db.checkRecord(); err != nil {
		return true, err
	}
	tried, err = db.records.TryAppend(seal)
	if tried && err == nil {
		db.wakeBehind()
	}
	return tried, wrapError(err)
}

// checkRecord reports why no record can be added.
func (db *DB) checkRecord() error {
	if db.isClosed() {
		return errClosed
	}
	if lost := db.lost.Load(); lost != nil {
		return &store.Error{Reason: store.ErrDamaged, Err: fmt.Errorf("the record went on to %s", lost)}
	}
	return nil
}

// Sync implements audit.Store, and brings to the disk what was admitted before. Others
// add records while the disk writes.
func (db *DB) Sync(ctx context.Context) error {
	switch {
	case db.isClosed():
		return errClosed
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if err := db.settleAdmissions(); err != nil {
		return wrapError(err)
	}
	return wrapError(db.records.Sync())
}

// Full reports whether the disk has no room to speak of: less than 1 MiB. It is
// false where that cannot be told.
func (db *DB) Full() bool { return diskFull(db.path) }

// Read implements audit.Reader. What is selected by more than numbers is found
// by the index as far as that goes, and by reading the rest.
func (db *DB) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		err := db.read(ctx, &q, func(r audit.Record) bool { return yield(r, nil) })
		if err != nil {
			yield(audit.Record{}, err)
		}
	}
}

// reading is one Read under way.
type reading struct {
	db *DB
	q  *audit.Query
	v  recordlog.View
	// mark is how far the index goes in the view.
	mark  indexMark
	yield func(audit.Record) bool
}

func (db *DB) read(ctx context.Context, q *audit.Query, yield func(audit.Record) bool) error {
	r := reading{db: db, q: q, yield: yield}
	if err := r.begin(ctx); err != nil {
		return err
	}
	if isPlain(q) {
		return r.readPlain(ctx)
	}
	return r.readSelected(ctx)
}

// isPlain reports whether a query selects by numbers alone.
func isPlain(q *audit.Query) bool {
	return q.Call == "" && q.Tool == "" && q.Principal == "" && !q.Denied && q.Since.IsZero()
}

func (r *reading) begin(ctx context.Context) (err error) {
	if r.db.isClosed() {
		return errClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.v, err = r.db.records.View(ctx); err != nil {
		return wrapError(err)
	}
	return nil
}

// readPlain yields a range of numbers.
func (r *reading) readPlain(ctx context.Context) error {
	v, after := &r.v, r.q.After
	if n := int64(r.q.Last); n > 0 {
		// The checkpoint is a record, too.
		after = max(after, v.Head.Seq-n)
	}
	if v.Checkpoint.Seq != 0 && (after == 0 || v.Checkpoint.Seq > after) && !r.yield(v.Checkpoint) {
		return nil
	}
	from, seq := v.First, v.Checkpoint.Seq+1
	switch {
	case after >= v.Head.Seq && after > 0:
		return nil
	case after == v.Head.Seq-1 && v.Last != 0:
		from, seq = v.Last, v.Head.Seq
	case after > v.Checkpoint.Seq:
		var err error
		if from, seq, err = r.findPlace(ctx, after+1); err != nil {
			return err
		}
	}
	for e, err := range r.db.records.Scan(ctx, v, from, seq) {
		if err != nil {
			return wrapError(err)
		}
		if (after == 0 || e.Seq > after) && !r.yield(e.Record) {
			return nil
		}
	}
	if lost := r.db.lost.Load(); lost != nil && r.q.Last == 0 {
		// The file knows of a record that is not there: a verification stops here.
		r.yield(audit.Record{Seq: lost.Seq})
	}
	return nil
}

// findPlace returns where to read from to find the record of a number, and the
// number of the record there.
func (r *reading) findPlace(ctx context.Context, seq int64) (recordlog.Position, int64, error) {
	from, first := r.v.First, r.v.Checkpoint.Seq+1
	err := r.db.runQueries(ctx, func(c *conn) error {
		m, _, err := c.readMark()
		if err != nil {
			return err
		}
		if seq > m.Seq {
			if m.at > from {
				from, first = m.at, m.Seq+1
			}
			return nil
		}
		b, err := c.findBlock(seq / blockRecords)
		if err == nil && b.first != 0 && b.first <= seq && b.at > from {
			from, first = b.at, b.first
		}
		return err
	})
	return from, first, err
}

// Prune implements audit.Pruner.
func (db *DB) Prune(ctx context.Context, checkpoint audit.Record) error {
	if err := db.checkRecord(); err != nil {
		return err
	}
	// What the records say of conversations, and of what was used, stays in tables: on the
	// disk, before the records are gone from it.
	if err := db.indexAll(ctx); err != nil {
		return err
	}
	if err := db.log.sync(); err != nil {
		return wrapError(err)
	}
	at, err := db.placeOf(ctx, checkpoint.Seq)
	if err != nil {
		return err
	}
	if err := db.records.Prune(ctx, &checkpoint, at); err != nil {
		return wrapError(err)
	}
	if err := db.dropPruned(ctx); err != nil {
		return err
	}
	return db.releaseFreePages(ctx)
}

// placeOf returns where the record of a number stands, 0 when that is not known.
func (db *DB) placeOf(ctx context.Context, seq int64) (at recordlog.Position, err error) {
	r := reading{db: db, q: &audit.Query{}}
	if err := r.begin(ctx); err != nil {
		return 0, err
	}
	from, first, err := r.findPlace(ctx, seq)
	if err != nil {
		return 0, err
	}
	k := db.records.NewLookup()
	defer k.Close()
	err = k.Scan(&r.v, from, first, seq, func(e *recordlog.Entry) bool {
		if e.Seq == seq {
			at = e.At
		}
		return true
	})
	return at, wrapError(err)
}

func (db *DB) releaseFreePages(ctx context.Context) error {
	c, err := db.acquireWriter(ctx)
	if err != nil {
		return err
	}
	defer db.releaseWriter(c)
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	// Not prepared: the pragma works row by row until it is stepped through.
	return c.wrapError(ctx, c.Exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(PASSIVE)"))
}
