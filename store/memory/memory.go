// Package memory keeps state in the memory of the process: for tests, and
// for runs that shall leave nothing behind. It does what package sqlite does
// and nothing of it survives the process.
//
// Start with [New].
package memory

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/store"
)

// Options refine a Store. nil means the defaults.
type Options struct {
	// Limits bounds what is kept.
	Limits store.Limits
	// Now is the clock of expiry; nil means time.Now.
	Now func() time.Time
	// RecordBytes bounds the memory that records take, in bytes; 0 means 64 MiB.
	RecordBytes int
	// RecordAge is how long a record is kept; 0 means 24 hours.
	RecordAge time.Duration
}

const (
	defaultRecordBytes = 64 << 20
	defaultRecordAge   = 24 * time.Hour
)

// Store implements store.State in memory. It is safe for concurrent use.
type Store struct {
	limits      store.Limits
	now         func() time.Time
	recordBytes int
	recordAge   time.Duration

	mu       sync.RWMutex
	closed   bool
	chain    recordChain
	bodies   []byte // of short records, with room for more
	kv       map[string]map[string]kvEntry
	reads    map[string][]sallyport.ReadRecord
	settings map[string]string
	places   map[string]sallyport.WritePlace
	counters limitTable

	principals map[string]auth.Record
	switches   map[auth.SwitchTarget]auth.Switch

	approvals sallyport.ApprovalStore
	facts     *facts.Memory
}

var (
	_ store.State   = (*Store)(nil)
	_ audit.Bounded = (*Store)(nil)
)

type kvEntry struct {
	value   string
	expires int64
	mortal  bool
}

func (e *kvEntry) isLive(now time.Time) bool { return !e.mortal || now.UnixNano() < e.expires }

// New returns an empty store.
func New(o *Options) (*Store, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	limits, err := opts.Limits.WithDefaults()
	if err != nil {
		return nil, err
	}
	if opts.RecordBytes < 0 || opts.RecordAge < 0 {
		return nil, errors.New("memory: options: bounds of records must not be negative")
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	return &Store{
		limits: limits, now: opts.Now,
		recordBytes: cmp.Or(opts.RecordBytes, defaultRecordBytes), recordAge: cmp.Or(opts.RecordAge, defaultRecordAge),
		kv:       make(map[string]map[string]kvEntry),
		reads:    make(map[string][]sallyport.ReadRecord),
		settings: make(map[string]string),
		places:   make(map[string]sallyport.WritePlace),
		counters: limitTable{keys: make(map[string]*limitCounter)},

		principals: make(map[string]auth.Record),
		switches:   make(map[auth.SwitchTarget]auth.Switch),

		approvals: NewApprovals(opts.Now),
		facts:     facts.NewMemory(),
	}, nil
}

// Close makes every later use fail with store.ErrClosed. Closing twice is
// safe.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// lockOpen acquires the lock for writing unless ctx is done or the store
// closed. The caller unlocks it.
func (s *Store) lockOpen(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return &store.Error{Reason: store.ErrClosed}
	}
	return nil
}

// Remember implements sallyport.ReadMemory.
func (s *Store) Remember(ctx context.Context, session string, r sallyport.ReadRecord) error {
	if err := s.lockOpen(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	oldest := s.now().Add(-s.limits.ReadAge)
	list := slices.DeleteFunc(s.reads[session], func(have sallyport.ReadRecord) bool {
		return have.Path == r.Path || have.Time.Before(oldest)
	})
	list = append(list, r)
	if over := len(list) - s.limits.Reads; over > 0 {
		list = slices.Delete(list, 0, over)
	}
	s.reads[session] = list
	return nil
}

// Recall implements sallyport.ReadMemory.
func (s *Store) Recall(ctx context.Context, session, path, identity string) (r sallyport.ReadRecord, ok bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return r, false, &store.Error{Reason: store.ErrClosed}
	}
	oldest := s.now().Add(-s.limits.ReadAge)
	for _, have := range s.reads[session] {
		match := have.Path == path || (identity != "" && have.Identity == identity)
		if match && !have.Time.Before(oldest) && (!ok || !have.Time.Before(r.Time)) {
			r, ok = have, true
		}
	}
	return r, ok, ctx.Err()
}
