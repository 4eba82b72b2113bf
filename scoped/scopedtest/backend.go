package scopedtest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// Secrets is a secret source in memory: values by reference. It must not be
// changed while it is used.
type Secrets map[string]string

// Secret returns the value of a reference.
func (s Secrets) Secret(_ context.Context, ref string) (sallyport.Secret, bool, error) {
	value, ok := s[ref]
	return sallyport.NewSecret(value), ok, nil
}

// Known returns all values, in the order of their references.
func (s Secrets) Known(context.Context) ([]sallyport.Secret, error) {
	var list []sallyport.Secret
	for _, ref := range slices.Sorted(maps.Keys(s)) {
		list = append(list, sallyport.NewSecret(s[ref]))
	}
	return list, nil
}

// KV is a key-value factory in memory. The zero value is empty; it is safe for
// concurrent use.
type KV struct {
	mu     sync.Mutex
	opened []string
	scopes map[string]map[string]kvEntry
}

type kvEntry struct {
	value   string
	expires time.Time // zero means never
}

// KV opens the store of a scope.
func (k *KV) KV(_ context.Context, scope string) (sallyport.KV, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.scopes == nil {
		k.scopes = map[string]map[string]kvEntry{}
	}
	if k.scopes[scope] == nil {
		k.scopes[scope] = map[string]kvEntry{}
	}
	k.opened = append(k.opened, scope)
	return &kvScope{k, k.scopes[scope]}, nil
}

// Opened returns the ids of the scopes that were opened, in order.
func (k *KV) Opened() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.opened)
}

type kvScope struct {
	of      *KV
	entries map[string]kvEntry
}

func (s *kvScope) liveValue(key string) (string, bool) {
	e, ok := s.entries[key]
	return e.value, ok && (e.expires.IsZero() || time.Now().Before(e.expires))
}

func (s *kvScope) Get(_ context.Context, key string) (string, bool, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	value, ok := s.liveValue(key)
	return value, ok, nil
}

func (s *kvScope) Set(_ context.Context, key, value string, ttl time.Duration) error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	e := kvEntry{value: value}
	if ttl > 0 {
		e.expires = time.Now().Add(ttl)
	}
	s.entries[key] = e
	return nil
}

func (s *kvScope) Delete(_ context.Context, key string) error {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	delete(s.entries, key)
	return nil
}

func (s *kvScope) List(_ context.Context, prefix string) ([]string, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	var keys []string
	for key := range s.entries {
		if _, ok := s.liveValue(key); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// Queried is one statement that a tool ran.
type Queried struct {
	// Connection is the name of the connection.
	Connection string
	// Mode is the granted mode.
	Mode sallyport.AccessMode
	// Query is the statement, Args its bound arguments.
	Query string
	// Args is the bound arguments.
	Args []any
}

// Databases is a database backend that plays answers back.
type Databases struct {
	// Play returns the answer to a statement; nil means an empty table.
	Play func(Queried) (sallyport.Table, error)

	record *Record
}

// Query records the statement and plays its answer.
func (d *Databases) Query(
	ctx context.Context, connection string, mode sallyport.AccessMode, query string, args []any,
) (sallyport.Table, error) {
	q := Queried{connection, mode, query, slices.Clone(args)}
	if r := d.record; r != nil {
		r.runLocked(func() { r.queried = append(r.queried, q) })
	}
	if err := ctx.Err(); err != nil || d.Play == nil {
		return sallyport.Table{}, err
	}
	return d.Play(q)
}

// Outbox is a mail backend that keeps what is sent. The zero value is empty;
// it is safe for concurrent use.
type Outbox struct {
	record  *Record
	guarded lockedState
	sent    map[string][]sallyport.Message
}

// Send keeps a message under its relay.
func (b *Outbox) Send(ctx context.Context, relay string, m sallyport.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.guarded.runLocked(func() {
		if b.sent == nil {
			b.sent = map[string][]sallyport.Message{}
		}
		b.sent[relay] = append(b.sent[relay], m)
	})
	if r := b.record; r != nil {
		r.runLocked(func() { r.sent = append(r.sent, m) })
	}
	return nil
}

// Sent returns what a relay received, in order.
func (b *Outbox) Sent(relay string) []sallyport.Message {
	var list []sallyport.Message
	b.guarded.runLocked(func() { list = slices.Clone(b.sent[relay]) })
	return list
}

// Attachments is an attachment store in memory: contents by ref. It must not
// be changed while it is used.
type Attachments map[string]string

// Open returns the content of a ref.
func (a Attachments) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	content, ok := a[ref]
	if !ok {
		return nil, fmt.Errorf("attachment %q: %w", ref, fs.ErrNotExist)
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

// memoryReads remembers reads in memory, for the stale-write check.
type memoryReads struct {
	guarded lockedState
	records []readOf
}

type readOf struct {
	session string
	record  sallyport.ReadRecord
}

func (m *memoryReads) Remember(_ context.Context, session string, r sallyport.ReadRecord) error {
	m.guarded.runLocked(func() { m.records = append(m.records, readOf{session, r}) })
	return nil
}

func (m *memoryReads) Recall(_ context.Context, session, path, identity string) (sallyport.ReadRecord, bool, error) {
	var found sallyport.ReadRecord
	ok := false
	m.guarded.runLocked(func() {
		for _, e := range m.records {
			if e.session == session && (e.record.Path == path || e.record.Identity == identity) {
				found, ok = e.record, true
			}
		}
	})
	return found, ok, nil
}
