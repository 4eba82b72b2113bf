package sqlite

import (
	"context"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/callid"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// Check reads the whole file, compares every index with its table, and the index
// of the record with the record. The error matches store.ErrDamaged when they do
// not agree. Verifying the chain reads the records only; this finds a change in
// what is used to search them.
func (db *DB) Check(ctx context.Context) error {
	err := db.runQueries(ctx, func(c *conn) error {
		return c.query("PRAGMA integrity_check(1)", nil, func(s *sqlite3.Stmt) (bool, error) {
			if s.ColumnText(0) != "ok" {
				return false, &store.Error{Reason: store.ErrDamaged}
			}
			return true, nil
		})
	})
	if err != nil {
		return err
	}
	return db.checkIndex(ctx)
}

// checkIndex compares the index with the record as far as it goes.
func (db *DB) checkIndex(ctx context.Context) error {
	r := reading{db: db, q: &audit.Query{}}
	if err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.readMark(ctx); err != nil {
		return err
	}
	k := indexCheck{db: db, v: &r.v, mark: r.mark.Seq, pruned: r.v.Checkpoint.Seq != 0, names: map[indexName]struct{}{}, calls: map[string]int64{}}
	for e, err := range db.records.Scan(ctx, &r.v, r.v.First, r.v.Checkpoint.Seq+1) {
		if err != nil {
			return wrapError(err)
		}
		if e.Seq > r.mark.Seq {
			break
		}
		if err := k.addRecord(ctx, &e); err != nil {
			return err
		}
		if e.Seq == r.mark.Seq && len(e.Body) > 0 && (e.Next != r.mark.at || e.Hash != r.mark.Hash) {
			return newDisagreement(fmt.Sprintf("what it knows as its end, record %d", e.Seq))
		}
	}
	if err := k.checkBlock(ctx); err != nil {
		return err
	}
	return k.checkCount(ctx)
}

// newDisagreement returns the error of an index that does not say what the record does.
func newDisagreement(what string) error {
	return &store.Error{Reason: store.ErrDamaged, Err: &recordlog.Damage{
		Why: "its index does not agree with the record about " + what + ": put a copy of the file back, beside the record as it is",
	}}
}

// indexCheck compares one block after the other with what the index should say of it.
type indexCheck struct {
	db *DB
	v  *recordlog.View
	// mark is how far the record was indexed. Others may index more in the meantime.
	mark int64
	// pruned is true for a block of which records were pruned, damaged of one with
	// records that a verification names. Of these the index may say more.
	pruned, damaged bool
	block           indexBlock
	names           map[indexName]struct{}
	// calls are those with timed names.
	calls map[string]int64
	// first is the number of the first block, seen counts all of them.
	first, seen int64
	// unsure is true once there was damage: a block may have no record that can be read.
	unsure bool
}

func (k *indexCheck) addRecord(ctx context.Context, e *recordlog.Entry) error {
	if number := e.Seq / blockRecords; number != k.block.number || k.block.first == 0 {
		if err := k.checkBlock(ctx); err != nil {
			return err
		}
		if k.seen++; k.seen == 1 {
			k.first = number
		}
		k.block = indexBlock{number: number, first: e.Seq, at: e.At, newest: k.block.newest, latest: k.block.latest}
	}
	if len(e.Body) == 0 {
		k.damaged, k.unsure = true, true
		return nil
	}
	k.block.newest = max(k.block.newest, e.Time)
	addNames(k.names, &e.Record)
	if name, ok := callid.ReadTime(e.Call); ok {
		k.calls[e.Call] = name
		k.block.latest = max(k.block.latest, name)
	}
	return nil
}

// checkBlock compares the block that was added to, and forgets what it held.
func (k *indexCheck) checkBlock(ctx context.Context) error {
	if k.block.first == 0 {
		return nil
	}
	var got indexBlock
	var before [nearBlocks]int64
	var named, more bool
	err := k.db.inSnapshot(ctx, func(c *conn) (err error) {
		if got, err = c.findBlock(k.block.number); err != nil {
			return err
		}
		if before, err = c.findLatestBefore(k.block.number); err != nil {
			return err
		}
		if k.block.number == k.mark/blockRecords {
			m, _, err := c.readMark()
			if err != nil {
				return err
			}
			more = m.Seq > k.mark
		}
		named, err = c.hasNames(&got, k, before[nearBlocks-1])
		return err
	})
	if err != nil {
		return err
	}
	want := k.block
	if k.pruned || k.damaged || more {
		// The time of a record that is gone, altered or new may be the newest.
		want.newest, want.latest = max(want.newest, got.newest), max(want.latest, got.latest)
	}
	if before[0] <= got.latest {
		// An older version left it, or a part of it: calls above it are named.
		want.latest = min(want.latest, got.latest)
	}
	if got.at < k.v.First {
		got.at, got.first = want.at, want.first // as a reader does
	}
	if got != want || !named {
		return newDisagreement(fmt.Sprintf("records %d to %d", want.first, (want.number+1)*blockRecords-1))
	}
	k.block, k.pruned, k.damaged = want, false, false
	clear(k.names)
	clear(k.calls)
	return nil
}

// checkCount compares how many blocks there are: a reader of calls counts them.
func (k *indexCheck) checkCount(ctx context.Context) error {
	if k.unsure || k.seen == 0 {
		return nil
	}
	return k.db.runQueries(ctx, func(c *conn) error {
		n, err := c.readInt("SELECT count(*) FROM record_blocks WHERE block BETWEEN ?1 AND ?2", k.first, k.block.number)
		if err == nil && n != k.seen {
			err = newDisagreement("how many records there are")
		}
		return err
	})
}

// hasNames reports whether the index has what it should for a block; before is the latest
// of the block nearBlocks before.
func (c *conn) hasNames(b *indexBlock, k *indexCheck, before int64) (bool, error) {
	for name := range k.names {
		if there, err := c.hasName(b, name); !there || err != nil {
			return false, err
		}
	}
	for call, name := range k.calls {
		if name > before && name <= b.latest {
			continue
		}
		there, err := c.hasName(b, indexName{ofCall, name})
		if !there && err == nil {
			there, err = c.hasName(b, indexName{ofOtherCall, digestName(call)})
		}
		if !there || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (c *conn) hasName(b *indexBlock, name indexName) (bool, error) {
	n, err := c.readInt("SELECT 1 FROM record_names WHERE kind = ?1 AND name = ?2 AND block = ?3", int64(name.kind), name.name, b.number)
	return n == 1, err
}
