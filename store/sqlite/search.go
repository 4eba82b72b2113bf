package sqlite

import (
	"context"
	"errors"
	"slices"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store/internal/recordlog"
)

// place is where the index says that a record stands.
type place struct {
	seq int64
	at  recordlog.Position
}

// searchBlocks is how many blocks one look at the index gives: a reader that stops to
// write to a slow pipe holds no snapshot, which would let the write-ahead log
// grow.
const searchBlocks = 512

// fewBlocks is how many a look gives to who wants no more records.
const fewBlocks = 32

// readSelected yields what the index selects, and then what is selected of the
// records that are not indexed yet.
func (r *reading) readSelected(ctx context.Context) error {
	if err := r.prepareIndex(ctx); err != nil {
		return err
	}
	if r.q.Last > 0 {
		return r.readNewest(ctx)
	}
	if c := r.v.Checkpoint; c.Seq != 0 && r.q.Match(&c) && !r.yield(c) {
		return nil
	}
	after := max(r.q.After, r.v.Checkpoint.Seq)
	more := true
	err := r.search(ctx, after, false, func(rec audit.Record) bool {
		more = r.yield(rec)
		return more
	})
	if err != nil || !more {
		return err
	}
	return r.readRest(ctx, func(rec audit.Record, _ recordlog.Position) bool { return r.yield(rec) })
}

// prepareIndex notes how far the index goes, and brings it nearer to the end
// first when too much is not in it.
func (r *reading) prepareIndex(ctx context.Context) error {
	for tried := false; ; tried = true {
		if err := r.readMark(ctx); err != nil {
			return err
		}
		if tried || r.v.Head.Seq-r.mark.Seq <= indexRest {
			return nil
		}
		// What cannot be indexed now is read.
		if err := r.db.indexAll(ctx); err != nil && (ctx.Err() != nil || errors.Is(err, errClosed)) {
			return err
		}
	}
}

// readMark notes how far the index goes.
func (r *reading) readMark(ctx context.Context) error {
	err := r.db.runQueries(ctx, func(c *conn) (err error) {
		r.mark, _, err = c.readMark()
		return err
	})
	if r.mark.at < r.v.First {
		r.mark.Head, r.mark.at = r.v.Checkpoint.Head(), r.v.First
	}
	return err
}

// readRest gives what is selected of the records that are not indexed.
func (r *reading) readRest(ctx context.Context, give func(audit.Record, recordlog.Position) bool) error {
	for e, err := range r.db.records.Scan(ctx, &r.v, r.mark.at, r.mark.Seq+1) {
		if err != nil {
			return wrapError(err)
		}
		if r.q.Match(&e.Record) && !give(e.Record, e.At) {
			return nil
		}
	}
	return nil
}

// readNewest yields the newest of what is selected.
func (r *reading) readNewest(ctx context.Context) error {
	var found []place
	err := r.readRest(ctx, func(rec audit.Record, at recordlog.Position) bool {
		found = append(found, place{rec.Seq, at})
		return true
	})
	if err != nil {
		return err
	}
	// From the newest on.
	slices.Reverse(found)
	if missing := r.q.Last - len(found); missing > 0 {
		err := r.searchPlaces(ctx, max(r.q.After, r.v.Checkpoint.Seq), true, func(p place, _ audit.Record) bool {
			found = append(found, p)
			return len(found) < r.q.Last
		})
		if err != nil {
			return err
		}
	}
	found = found[:min(len(found), r.q.Last)]
	slices.Reverse(found)
	if c := r.v.Checkpoint; len(found) < r.q.Last && c.Seq != 0 && r.q.Match(&c) && !r.yield(c) {
		return nil
	}
	k := r.db.records.NewLookup()
	defer k.Close()
	for _, p := range found {
		rec, err := k.Record(p.at, p.seq)
		if err != nil {
			return wrapError(err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !r.yield(rec) {
			return nil
		}
	}
	return nil
}

// search gives the records that the index selects.
func (r *reading) search(ctx context.Context, after int64, newestFirst bool, give func(audit.Record) bool) error {
	return r.searchPlaces(ctx, after, newestFirst, func(_ place, rec audit.Record) bool { return give(rec) })
}

// searchPlaces gives the records that the index selects, with their places.
func (r *reading) searchPlaces(ctx context.Context, after int64, newestFirst bool, give func(place, audit.Record) bool) error {
	k := r.db.records.NewLookup()
	defer k.Close()
	most := searchBlocks
	if newestFirst && r.q.Last <= fewBlocks {
		most = fewBlocks
	}
	if !r.q.Since.IsZero() {
		first, err := r.firstSince(ctx, after)
		if err != nil {
			return err
		}
		after = max(after, first-1)
	}
	low, high := (after+1)/blockRecords, r.mark.Seq/blockRecords
	for low <= high {
		var blocks []indexBlock
		err := r.db.runQueries(ctx, func(c *conn) (err error) {
			blocks, err = c.findBlocks(r.q, low, high, newestFirst, most)
			return err
		})
		if err != nil {
			return err
		}
		for i := range blocks {
			found, err := r.readBlock(k, &blocks[i], after)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return wrapError(err)
			}
			if newestFirst {
				slices.Reverse(found)
			}
			for _, e := range found {
				if !give(place{e.Seq, e.At}, e.Record) {
					return nil
				}
			}
		}
		switch {
		case len(blocks) < most:
			return nil
		case newestFirst:
			high = blocks[len(blocks)-1].number - 1
		default:
			low = blocks[len(blocks)-1].number + 1
		}
	}
	return nil
}

// readBlock returns what is selected of the records of a block with numbers above one.
func (r *reading) readBlock(k *recordlog.Lookup, b *indexBlock, after int64) (found []recordlog.Entry, err error) {
	from, first := b.findStart(&r.v)
	err = k.Scan(&r.v, from, first, min((b.number+1)*blockRecords-1, r.mark.Seq), func(e *recordlog.Entry) bool {
		if e.Seq > after && r.q.Match(&e.Record) {
			found = append(found, *e)
		}
		return true
	})
	return found, err
}

// firstSince returns the number of the first record whose block may be as new as the
// query asks: before it, no time is. Times need not rise with the numbers, their
// latest does.
func (r *reading) firstSince(ctx context.Context, after int64) (first int64, err error) {
	err = r.db.inSnapshot(ctx, func(c *conn) (err error) {
		first, err = c.findFirst("newest", r.q.Since.UnixNano(), (after+1)/blockRecords, r.mark.Seq/blockRecords)
		return err
	})
	return first * blockRecords, err
}
