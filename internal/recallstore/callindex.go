package recallstore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/recall"
)

// CallOptions refine an index of calls. nil means the defaults.
type CallOptions struct {
	// MaxBytes bounds the file; 0 means 1 GiB. The index lets its oldest calls go when
	// they take a third of it: room to write it anew stays.
	MaxBytes int64
	// Batch is how many records are indexed in one transaction; 0 means 2000.
	Batch int
	// Wait is how long a search waits for an index that is behind; 0 means 20 s.
	Wait time.Duration
}

// CallIndex finds recorded calls by their words. The index is built at the first search
// and brought to the end of the record before each answer: a call costs nothing as long as
// nothing is searched. It stands in a file of its own, which may be removed at any time,
// or in memory, and several processes may use one file.
//
// It holds words of what the record holds of the calls, each with a digest of role and
// principal, and no names of them. What is no longer in the record is found no more.
type CallIndex struct {
	file    *sharedFile
	records audit.Reader
	o       CallOptions

	mu      sync.Mutex
	current *indexBuild // nil while none runs
	closed  bool
	running sync.WaitGroup
}

var _ recall.History = (*CallIndex)(nil)

// errCalls is what callers may read of a failure of the index.
var errCalls = errors.New("the index of the calls failed")

// NewCallIndex returns an index of records in a file, or in memory when the path is empty.
// Nothing is opened before it is used. The caller closes it before the records.
func NewCallIndex(path string, records audit.Reader, o *CallOptions) *CallIndex {
	x := &CallIndex{records: records}
	if o != nil {
		x.o = *o
	}
	x.o.MaxBytes, x.o.Batch, x.o.Wait = cmp.Or(x.o.MaxBytes, 1<<30), cmp.Or(x.o.Batch, 2000), cmp.Or(x.o.Wait, 20*time.Second)
	x.file = newSharedFile(path, x.o.MaxBytes, errCalls, prepareCalls)
	x.file.relaxed = true
	return x
}

// Close ends the building of the index and closes the file.
func (x *CallIndex) Close() error {
	x.mu.Lock()
	x.closed = true
	if x.current != nil {
		x.current.cancel()
	}
	x.mu.Unlock()
	x.running.Wait()
	return x.file.Close()
}

// Calls implements recall.History. Calls with all words come first, the newest first; then
// those with some of them, the rarer words before the common ones. Words that are empty
// select the newest calls.
func (x *CallIndex) Calls(ctx context.Context, q recall.CallQuery) (recall.Calls, error) {
	terms := splitTerms(q.Words)
	switch {
	case q.Words == "":
		terms = []string{""} // the side alone, which every call has
	case len(terms) == 0:
		return recall.Calls{}, nil
	}
	if err := x.awaitIndex(ctx); err != nil {
		return recall.Calls{}, err
	}
	calls, err := x.findCalls(ctx, &q, terms)
	if isDamaged(err) {
		if err = errors.Join(x.file.discardFile(), x.awaitIndex(ctx)); err == nil {
			calls, err = x.findCalls(ctx, &q, terms)
		}
	}
	return calls, err
}

// findCalls searches an index that is not behind.
func (x *CallIndex) findCalls(ctx context.Context, q *recall.CallQuery, terms []string) (calls recall.Calls, err error) {
	s := wordSearch{on: []string{callSide(q.Role, q.Principal)}, terms: terms, backwards: true, most: q.Most}
	if q.Session != "" {
		s.also = sessionWord(q.Session)
	}
	if !q.Since.IsZero() {
		if s.from, err = x.firstSince(ctx, q); err != nil || s.from == 0 {
			return calls, err
		}
	}
	var ids []int64
	var m callMark
	err = x.file.runOn(ctx, func(c *sqlite3.Conn) (err error) {
		if m, err = readCallMark(c); err == nil {
			s.c = c
			ids, err = s.rankRows()
		}
		return err
	})
	if err != nil {
		return calls, err
	}
	for len(ids) > 0 && len(calls.List) < q.Most {
		n := min(len(ids), q.Most)
		found, err := x.readRecords(ctx, ids[:n])
		if err != nil {
			return calls, err
		}
		for _, id := range ids[:n] {
			p, ok, err := selectCall(found[id], q)
			if err != nil {
				return calls, err
			}
			if ok && len(calls.List) < q.Most {
				calls.List = append(calls.List, p)
			}
		}
		ids = ids[n:]
	}
	calls.Back, err = x.findBeginning(ctx, m.first)
	return calls, err
}

// firstSince returns the number of the first record of the principal that is new enough, 0
// for none.
func (x *CallIndex) firstSince(ctx context.Context, q *recall.CallQuery) (int64, error) {
	for rec, err := range x.records.Read(ctx, audit.Query{Principal: q.Principal, Since: q.Since}) {
		return rec.Seq, err
	}
	return 0, nil
}

// selectCall returns the call of a record; ok is false when the record is not one that the
// query selects: the index is only asked where to look.
func selectCall(rec *audit.Record, q *recall.CallQuery) (p recall.PastCall, ok bool, err error) {
	if rec == nil || rec.Kind != audit.KindOutcome || rec.Principal != q.Principal {
		return p, false, nil
	}
	e, err := rec.Event()
	if err != nil || string(e.Personality) != q.Role || q.Session != "" && string(e.Session) != q.Session || e.Time.Before(q.Since) {
		return p, false, err
	}
	p = recall.PastCall{
		ID: e.CallID, Session: string(e.Session), Tool: string(e.Tool), Args: string(e.Args), Said: string(e.Full), OK: e.OK, Time: e.Time,
	}
	if !e.OK {
		p.Said = string(e.Error)
	}
	return p, true, nil
}

// nearRecords is how many records are read over on the way to the next one that is wanted:
// finding one takes longer.
const nearRecords = 64

// readRecords returns records by their numbers. One that is gone is missing.
func (x *CallIndex) readRecords(ctx context.Context, seqs []int64) (map[int64]*audit.Record, error) {
	wanted := slices.Sorted(slices.Values(seqs))
	found := make(map[int64]*audit.Record, len(wanted))
	for len(wanted) > 0 {
		from := wanted[0]
		wanted = wanted[1:]
		for rec, err := range x.records.Read(ctx, audit.Query{After: from - 1}) {
			if err != nil {
				return nil, err
			}
			if rec.Seq == from {
				found[from] = &rec
			}
			for rec.Seq >= from && len(wanted) > 0 && wanted[0]-rec.Seq <= nearRecords {
				from, wanted = wanted[0], wanted[1:]
			}
			if rec.Seq >= from {
				break
			}
		}
	}
	return found, nil
}

// findBeginning returns the time of the first call that is in the index, when the record has
// older ones; the zero time when it has none.
func (x *CallIndex) findBeginning(ctx context.Context, first int64) (at time.Time, err error) {
	oldest, err := x.readRecord(ctx, 0)
	if err != nil || first == 0 || oldest.Seq >= first {
		return at, err
	}
	rec, err := x.readRecord(ctx, first)
	if err != nil || rec.Seq == 0 {
		return at, err
	}
	return time.Unix(0, rec.Time), nil
}

// readRecord returns the first record behind a number, which may be the checkpoint; the
// zero one when there is none.
func (x *CallIndex) readRecord(ctx context.Context, after int64) (rec audit.Record, err error) {
	for rec, err := range x.records.Read(ctx, audit.Query{After: after}) {
		return rec, err
	}
	return rec, nil
}

// indexBuild is one pass over the record, up to its end.
type indexBuild struct {
	done   chan struct{}
	err    error // valid once done is closed
	cancel context.CancelFunc
}

// awaitIndex waits until the index knows every record that was there when it was called.
// The work goes on when the caller leaves.
func (x *CallIndex) awaitIndex(ctx context.Context) error {
	late := time.NewTimer(x.o.Wait)
	defer late.Stop()
	for range 2 {
		b, began := x.joinBuild()
		if b == nil {
			return errCalls
		}
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		case <-late.C:
			return &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: "the calls are still being indexed, which a first search begins: search again in a minute"}
		}
		if began || b.err != nil {
			return b.err
		}
		// It was under way and may have passed its end: the next one was not.
	}
	return nil
}

// joinBuild returns the build that runs, or begins one; nil when the index is closed.
func (x *CallIndex) joinBuild() (b *indexBuild, began bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.current != nil {
		return x.current, false
	}
	ctx, cancel := context.WithCancel(context.Background())
	b = &indexBuild{done: make(chan struct{}), cancel: cancel}
	x.current = b
	x.running.Go(func() {
		defer cancel()
		b.err = x.buildIndex(ctx)
		x.mu.Lock()
		x.current = nil
		x.mu.Unlock()
		close(b.done)
	})
	return b, true
}

// buildIndex brings the index to the end of the record. A file that is damaged is begun
// anew.
func (x *CallIndex) buildIndex(ctx context.Context) (err error) {
	for tries := 0; ; tries++ {
		for again := true; again && err == nil; {
			again, err = x.indexRecords(ctx)
		}
		if tries > 0 || !isDamaged(err) {
			return err
		}
		if err = x.file.discardFile(); err != nil {
			return err
		}
	}
}

// isDamaged reports whether a file is none of ours, or broken.
func isDamaged(err error) bool {
	return errors.Is(err, sqlite3.CORRUPT) || errors.Is(err, sqlite3.NOTADB) || errors.Is(err, sqlite3.FORMAT)
}

// DropPruned removes the words of records that were pruned, from the file too. Where there
// is no file yet, none is made.
func (x *CallIndex) DropPruned(ctx context.Context) error {
	if _, err := os.Stat(x.file.path); x.file.path != "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := x.file.runTx(ctx, func(c *sqlite3.Conn) error {
		m, err := x.followRecord(ctx, c)
		if err != nil {
			return err
		}
		return m.storeMark(c)
	})
	if isDamaged(err) {
		return x.file.discardFile()
	}
	if err != nil {
		return err
	}
	return x.file.runOn(ctx, func(c *sqlite3.Conn) error { return c.Exec("PRAGMA wal_checkpoint(TRUNCATE)") })
}
