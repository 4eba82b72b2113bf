package known

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// MaxQueried bounds the members that a query gives.
	MaxQueried = 10_000
	// MaxQueriedBytes bounds them together.
	MaxQueriedBytes = maxFile
	// standFor is for how many intervals the members that were read last count: two
	// readings in a row may fail.
	standFor = 3
	// retryPause is the pause after a reading that failed, unless the interval is
	// shorter.
	retryPause = 30 * time.Second
)

// ErrUnread: the members that a query gives are not known, so that no value counts as a
// member of the set.
var ErrUnread = errors.New("its query cannot be read")

// Query says how members of a set are read from elsewhere.
type Query struct {
	// Read returns the members as they are now. It bounds its own time. The error's
	// text is for the operator and holds no credentials.
	Read func(ctx context.Context) ([]string, error)
	// Refresh is the interval of reading.
	Refresh time.Duration
	// Tell is told once why reading fails, and with nil once it works again; nil
	// tells nothing.
	Tell func(err error)
}

// Reading is what a query gave last.
type Reading struct {
	// Values are the members as they were read.
	Values []string
	// At is the time from which they count.
	At time.Time
}

// queryReader reads what one query gives, again and again once it was asked for. It is safe
// for concurrent use.
type queryReader struct {
	Query
	kind  sallyport.ValueKind
	tried chan struct{} // closed after the first reading
	again chan struct{} // takes one: what was read is too old, and it is not known why

	mu     sync.Mutex
	begun  bool
	last   Reading
	wall   time.Time // of last, by the clock on the wall alone
	listed *listed   // of last; nil before a reading that went well
	err    error     // of the last reading; nil when it went well
}

func newQueryReader(q *Query, kind sallyport.ValueKind) *queryReader {
	return &queryReader{Query: *q, kind: kind, tried: make(chan struct{}), again: make(chan struct{}, 1)}
}

// readAgain reads until the context ends.
func (r *queryReader) readAgain(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		pause := r.Refresh
		if err := r.readOnce(ctx); err != nil {
			pause = min(pause, retryPause)
		}
		if n == 0 {
			close(r.tried)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-r.again:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// readOnce reads the members. Those that were read before stay when it fails.
func (r *queryReader) readOnce(ctx context.Context) error {
	at := time.Now() // what changes while it is read may be missed
	values, err := r.Read(ctx)
	if err == nil && len(values) > MaxQueried {
		err = fmt.Errorf("more than %d members", MaxQueried)
	}
	if ctx.Err() != nil {
		return err // the set is closed
	}
	var fresh *listed
	if err == nil {
		fresh = newListed(r.kind, values) // calls go on with what was read before
	}
	r.mu.Lock()
	failed := r.err != nil
	r.err = err
	if err == nil {
		r.last, r.wall, r.listed = Reading{values, at}, at.Round(0), fresh
	}
	r.mu.Unlock()
	if tell := r.Tell; tell != nil && failed != (err != nil) {
		tell(err)
	}
	return err
}

// current returns the members that count now. It waits for the first reading alone. The
// error matches [ErrUnread].
func (r *queryReader) current(ctx context.Context) (*listed, Reading, error) {
	select {
	case <-r.tried:
	case <-ctx.Done():
		return nil, Reading{}, fmt.Errorf("%w: %w", ErrUnread, ctx.Err())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.listed != nil && r.age() < standFor*r.Refresh:
		return r.listed, r.last, nil
	case r.err != nil:
		return nil, Reading{}, fmt.Errorf("%w: %w", ErrUnread, r.err)
	}
	select {
	case r.again <- struct{}{}: // the machine slept, or its clock was set
	default:
	}
	return nil, Reading{}, fmt.Errorf("%w in time", ErrUnread)
}

// age returns how old the members may be. The clock that only goes forward stands still
// while the machine sleeps, and the one on the wall may be set back: what they disagree
// about counts as age.
func (r *queryReader) age() time.Duration {
	passed, shown := time.Since(r.last.At), time.Now().Round(0).Sub(r.wall)
	return passed + (shown - passed).Abs()
}

// Start begins to read what queries give. Without it, the first use of a set does.
func (s *Sets) Start() {
	for _, one := range s.byName {
		s.begin(one.reader)
	}
}

// NeedQueries makes a set whose query cannot be read an error that does not match
// [ErrUnread], in place of a set without members: for calls of the past, which were not
// decided without them. Call it before the sets are used.
func (s *Sets) NeedQueries() { s.needed = true }

// begin begins to read what a query gives, once.
func (s *Sets) begin(r *queryReader) {
	if r == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun {
		return
	}
	r.begun = true
	if s.closing.Err() != nil {
		r.err = errors.New("the sets are closed")
		close(r.tried)
		return
	}
	s.reading.Go(func() { r.readAgain(s.closing) })
}

// Close ends the reading of queries. It may be called more than once.
func (s *Sets) Close() error {
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	s.reading.Wait()
	return nil
}

// Queried returns what the query of a set gave last, and waits for the first reading; ok
// is false when the set has no query. The error matches [ErrUnread].
func (s *Sets) Queried(ctx context.Context, name string) (last Reading, ok bool, err error) {
	one := s.byName[name]
	if one == nil || one.reader == nil {
		return Reading{}, false, nil
	}
	s.begin(one.reader)
	_, last, err = one.reader.current(ctx)
	return last, true, err
}

// Members returns the members that a table of one column holds: texts and whole numbers.
func Members(t sallyport.Table) ([]string, error) {
	switch {
	case len(t.Columns) != 1:
		return nil, fmt.Errorf("it gives %d columns: select one", len(t.Columns))
	case t.More:
		return nil, fmt.Errorf("it gives more than %d members or %d bytes", MaxQueried, MaxQueriedBytes)
	}
	values := make([]string, len(t.Rows))
	for i, row := range t.Rows {
		switch v := row[0].(type) {
		case string:
			values[i] = v
		case int64:
			values[i] = strconv.FormatInt(v, 10)
		case nil:
			return nil, fmt.Errorf("row %d is null: leave such rows out", i+1)
		default:
			return nil, fmt.Errorf("row %d is neither a text nor a whole number: cast it to a text", i+1)
		}
	}
	return values, nil
}
