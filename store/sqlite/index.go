package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

const (
	// indexPause is how long new records wait for each other before they are
	// indexed.
	indexPause = 200 * time.Millisecond
	// indexRows is how many are indexed in one transaction.
	indexRows = 512
	// indexShare bounds the work beside calls: a transaction is followed by so
	// many times its length without one.
	indexShare = 4
	// indexRest is how many records a reader reads itself, beside the index.
	indexRest = 1024
	// indexEnd is how long closing may take to index.
	indexEnd = time.Second
	// walSettle is how long a commit that nothing waits for may be kept from
	// the disk.
	walSettle = 50 * time.Millisecond
)

func (db *DB) wakeBehind() {
	select {
	case db.behind <- struct{}{}:
	default:
	}
}

// runBehind does what no caller waits for, until the store is closed: it brings
// commits to the disk, and indexes records.
func (db *DB) runBehind() {
	defer close(db.rested)
	for {
		select {
		case <-db.behind:
		case <-db.closing:
			return
		}
		if db.unsettled.Load() {
			if !db.pause(walSettle) {
				return
			}
			db.unsettled.Store(false)
			_ = db.log.sync() // which fails again for who waits for it
		}
		if !db.pause(db.o.indexPause) {
			return
		}
		db.moveReads()
		if db.o.unindexed {
			continue
		}
		db.indexBehind()
	}
}

// pause reports whether the store stays open for a while.
func (db *DB) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-db.closing:
		return false
	}
}

// indexBehind indexes what there is, with pauses. What fails is done by the next
// who reads.
func (db *DB) indexBehind() {
	ctx := context.Background()
	for more := true; more; {
		v, err := db.settledView(ctx)
		if err != nil {
			return
		}
		began := time.Now()
		if more, err = db.indexSome(ctx, &v); err != nil || more && !db.pause(indexShare*time.Since(began)) {
			return
		}
		if more {
			db.moveReads()
		}
	}
}

// settledView returns a view of which every record is on the disk: the index
// never knows more than the record after a loss of power.
func (db *DB) settledView(ctx context.Context) (recordlog.View, error) {
	v, err := db.records.View(ctx)
	if err == nil && v.Synced < v.Head.Seq {
		err = db.records.Sync()
	}
	return v, wrapError(err)
}

// indexAll indexes the record up to its end.
func (db *DB) indexAll(ctx context.Context) error {
	v, err := db.settledView(ctx)
	for more := true; more && err == nil; {
		more, err = db.indexSome(ctx, &v)
	}
	return err
}

// indexAtEnd indexes what there is when the store is closed, so that the file
// knows the end of the record and a cut is noticed at the next start. What fails is
// done by the next who reads.
func (db *DB) indexAtEnd() {
	if db.o.unindexed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), indexEnd)
	defer cancel()
	_ = db.indexAll(ctx)
}

// indexSome indexes the next records of a view.
func (db *DB) indexSome(ctx context.Context, v *recordlog.View) (more bool, err error) {
	if db.lost.Load() != nil {
		return false, nil
	}
	w, err := db.acquireWriter(ctx)
	if err != nil {
		return false, err
	}
	defer db.releaseWriter(w)
	var m indexMark
	err = w.inWriteTx(ctx, false, func(c *conn) (err error) {
		if m, _, err = c.readMark(); err != nil || m.Seq >= v.Head.Seq {
			return err
		}
		if m.at < v.First {
			if err := c.dropBlocks(v.Checkpoint.Seq); err != nil {
				return err
			}
			m.Head, m.at = v.Checkpoint.Head(), v.First
		}
		x, err := c.beginIndexing(m.Seq)
		if err != nil {
			return err
		}
		rows, brought, used := 0, factRows(nil), usedRows{}
		for e, err := range db.records.Scan(ctx, v, m.at, m.Seq+1) {
			if err != nil {
				return err
			}
			if err := x.addRecord(&e); err != nil {
				return err
			}
			brought.add(&e)
			used.add(&e)
			m.Head, m.at = e.Head(), e.Next
			if rows++; rows == indexRows {
				more = true
				break
			}
		}
		if err := errors.Join(x.storeBlock(), brought.storeFacts(c, db.o.Now()), used.storeUses(c)); err != nil {
			return err
		}
		return c.writeMark(&m)
	})
	switch {
	case err == nil:
		db.facts.drop(m.Seq)
	case errors.Is(err, recordlog.ErrPruned):
		return false, nil // the next view is another
	}
	return more, err
}

// dropPruned removes what the index knows of records that were pruned.
func (db *DB) dropPruned(ctx context.Context) error {
	v, err := db.records.View(ctx)
	if err != nil {
		return wrapError(err)
	}
	return db.inWriteTx(ctx, false, func(c *conn) error { return c.dropBlocks(v.Checkpoint.Seq) })
}

// compareMark compares what the file knows of the record with the record. A
// record that ends before, or went on differently, is not the one that the file
// knew: nothing is added to it, and a verification names it.
func (db *DB) compareMark(ctx context.Context, m *indexMark, c *conn) error {
	v, err := db.records.View(ctx)
	if err != nil || m.Seq <= v.Checkpoint.Seq {
		return err
	}
	b, err := c.findBlock(m.Seq / blockRecords)
	if err != nil {
		return err
	}
	lost := v.Head.Seq < m.Seq
	if !lost && b.first != 0 {
		hash, err := db.hashOf(ctx, &v, m.Seq, &b)
		if err != nil {
			return err
		}
		lost = hash != m.Hash && hash != audit.Hash{}
	}
	if lost {
		db.lost.Store(&m.Head)
	}
	return nil
}

// hashOf returns the hash of a record, which should be in a block; the zero one
// when it was altered where it is, which a verification names.
func (db *DB) hashOf(ctx context.Context, v *recordlog.View, seq int64, b *indexBlock) (hash audit.Hash, err error) {
	k := db.records.NewLookup()
	defer k.Close()
	find := func(e *recordlog.Entry) bool {
		if e.Seq == seq && len(e.Body) > 0 {
			hash = e.Hash
		}
		return e.Seq < seq
	}
	from, first := b.findStart(v)
	if err := k.Scan(v, from, first, seq, find); err == nil && hash != (audit.Hash{}) {
		return hash, nil
	}
	for e, err := range db.records.Scan(ctx, v, v.First, v.Checkpoint.Seq+1) {
		if err != nil {
			return audit.Hash{}, err
		}
		if e.Seq == seq {
			return e.Hash, nil
		}
	}
	return audit.Hash{}, nil
}
