// Package memory keeps state in the memory of the process: for tests, and
// for runs that shall leave nothing behind. It does what package sqlite does
// and nothing of it survives the process.
//
// Start with [New].
package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"errors"
	"slices"
	"sort"
	"strings"
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

	mu     sync.RWMutex
	closed bool
	chain  []audit.Record
	// added says when each record was added, chainBytes what all of them take.
	added      []time.Time
	chainBytes int
	bodies     []byte // of short records, with room for more
	kv         map[string]map[string]kvEntry
	reads      map[string][]sallyport.ReadRecord
	settings   map[string]string
	places     map[string]sallyport.WritePlace
	counters   limitTable

	principals map[string]auth.Record
	switches   map[auth.SwitchTarget]auth.Switch

	approvals sallyport.ApprovalStore
	facts     *facts.Memory
}

var _ store.State = (*Store)(nil)

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
// closed.
func (s *Store) lockOpen(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, &store.Error{Reason: store.ErrClosed}
	}
	return s.mu.Unlock, nil
}

// Append implements audit.Store.
func (s *Store) Append(ctx context.Context, seal func(audit.Head) ([]audit.Record, error)) error {
	unlock, err := s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var head audit.Head
	if n := len(s.chain); n > 0 {
		head = s.chain[n-1].Head()
	}
	records, err := seal(head)
	if err != nil {
		return err
	}
	for i := range records {
		if records[i].Seq != head.Seq+1+int64(i) {
			return fmt.Errorf("memory: record %d does not follow record %d", records[i].Seq, head.Seq+int64(i))
		}
	}
	for _, r := range records {
		r.Body = bytes.Clone(r.Body)
		s.chain = append(s.chain, r)
	}
	return nil
}

// Sync implements audit.Store. There is no disk to wait for.
func (s *Store) Sync(ctx context.Context) error {
	unlock, err := s.lockOpen(ctx)
	if err == nil {
		unlock()
	}
	return err
}

// Read implements audit.Reader. It yields the records as they were when it
// began.
func (s *Store) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		chain, err := s.chainSnapshot(ctx)
		if err != nil {
			yield(audit.Record{}, err)
			return
		}
		if q.Last > 0 {
			chain = newestMatches(chain, &q)
		}
		for i := range chain {
			if !q.Match(&chain[i]) {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(audit.Record{}, err)
				return
			}
			if !yield(chain[i], nil) {
				return
			}
		}
	}
}

// chainSnapshot returns the chain. Records are never changed in place, so that
// the slice header is enough.
func (s *Store) chainSnapshot(ctx context.Context) ([]audit.Record, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, &store.Error{Reason: store.ErrClosed}
	}
	return s.chain, ctx.Err()
}

// newestMatches returns the shortest end of chain with q.Last matches.
func newestMatches(chain []audit.Record, q *audit.Query) []audit.Record {
	left := q.Last
	for i := len(chain) - 1; i >= 0; i-- {
		if !q.Match(&chain[i]) {
			continue
		}
		if left--; left == 0 {
			return chain[i:]
		}
	}
	return chain
}

// Prune implements audit.Pruner.
func (s *Store) Prune(ctx context.Context, checkpoint audit.Record) error {
	unlock, err := s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	i, ok := sort.Find(len(s.chain), func(i int) int { return int(checkpoint.Seq - s.chain[i].Seq) })
	if !ok || s.chain[i].Hash != checkpoint.Hash {
		return fmt.Errorf("memory: record %d is not the one to cut at", checkpoint.Seq)
	}
	checkpoint.Body = bytes.Clone(checkpoint.Body)
	s.chain = append([]audit.Record{checkpoint}, s.chain[i+1:]...)
	return nil
}

// Remember implements sallyport.ReadMemory.
func (s *Store) Remember(ctx context.Context, session string, r sallyport.ReadRecord) error {
	unlock, err := s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
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

// KV implements sallyport.KVFactory.
func (s *Store) KV(_ context.Context, scope string) (sallyport.KV, error) {
	if err := s.limits.CheckScope(scope); err != nil {
		return nil, err
	}
	return &kvStore{s, scope}, nil
}

type kvStore struct {
	s     *Store
	scope string
}

func (k *kvStore) Get(ctx context.Context, key string) (value string, ok bool, err error) {
	if err := k.s.limits.CheckKey(key); err != nil {
		return "", false, err
	}
	k.s.mu.RLock()
	defer k.s.mu.RUnlock()
	if k.s.closed {
		return "", false, &store.Error{Reason: store.ErrClosed}
	}
	e, ok := k.s.kv[k.scope][key]
	if !ok || !e.isLive(k.s.now()) {
		return "", false, ctx.Err()
	}
	return e.value, true, ctx.Err()
}

func (k *kvStore) Set(ctx context.Context, key, value string, ttl time.Duration) error {
	if err := k.s.limits.CheckSet(key, value, ttl); err != nil {
		return err
	}
	unlock, err := k.s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	e := kvEntry{value: strings.Clone(value)}
	e.expires, e.mortal = store.Expiry(k.s.now(), ttl)
	if k.s.kv[k.scope] == nil {
		k.s.kv[k.scope] = make(map[string]kvEntry)
	}
	k.s.kv[k.scope][strings.Clone(key)] = e
	return nil
}

func (k *kvStore) Delete(ctx context.Context, key string) error {
	if err := k.s.limits.CheckKey(key); err != nil {
		return err
	}
	unlock, err := k.s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	delete(k.s.kv[k.scope], key)
	return nil
}

func (k *kvStore) List(ctx context.Context, prefix string) ([]string, error) {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if k.s.closed {
		return nil, &store.Error{Reason: store.ErrClosed}
	}
	now := k.s.now()
	var keys []string
	for key, e := range k.s.kv[k.scope] {
		switch {
		case !e.isLive(now):
			delete(k.s.kv[k.scope], key)
		case strings.HasPrefix(key, prefix):
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, ctx.Err()
}
