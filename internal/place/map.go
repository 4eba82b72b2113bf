package place

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
)

// freshness is how often the ledger hears that a place is still in force.
const freshness = 24 * time.Hour

// Options says what a [Map] is computed from.
type Options struct {
	// Workspace and Writes are those of [Input].
	Workspace string
	// Writes is where the configuration lets tools write.
	Writes []Write
	// Ledger remembers write places; nil remembers none.
	Ledger sallyport.PlaceLedger
	// View writes nothing into the ledger, for commands that only look.
	View bool
	// ForgetCommand is that of [Input].
	ForgetCommand func(path string) string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Without is that of [Input].
	Without Part
}

// Map is the table in force. It implements sallyport.Places and is safe for
// concurrent use.
type Map struct {
	o Options

	mu       sync.Mutex // of what computes a table
	writes   []Write
	now      atomic.Pointer[Table]
	revision atomic.Uint64
}

// NewMap computes the first table. A write place that the ledger cannot keep is
// not in force: the error says why, and the map answers for everything else.
func NewMap(ctx context.Context, o Options) (*Map, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Map{o: o, writes: slices.Clone(o.Writes)}
	return m, m.Renew(ctx)
}

// Renew computes the table again, and puts it in force when it decides otherwise
// than the one before: the operator has moved a link, something was mounted,
// another process has a configuration that writes elsewhere.
func (m *Map) Renew(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.now.Load()
	next, err := m.computeTable(ctx)
	if next == before {
		return err // The ledger cannot be read now; what it said before still holds.
	}
	m.now.Store(next)
	if before == nil || !before.equalTo(next) || before.walked.hasMoved(next) {
		m.revision.Add(1)
	}
	return err
}

// Add makes paths write places, as when a tool is registered.
func (m *Map) Add(ctx context.Context, writes ...Write) error {
	m.mu.Lock()
	n := len(m.writes)
	for _, w := range writes {
		if !slices.ContainsFunc(m.writes, func(have Write) bool { return have.Path == w.Path }) {
			m.writes = append(m.writes, w)
		}
	}
	grown := len(m.writes) > n
	m.mu.Unlock()
	if !grown {
		return nil
	}
	return m.Renew(ctx)
}

// computeTable reads the ledger, computes a table and has the ledger keep what
// is new before the table is in force.
func (m *Map) computeTable(ctx context.Context) (*Table, error) {
	in := Input{Workspace: m.o.Workspace, Writes: m.writes, Without: m.o.Without, ForgetCommand: m.o.ForgetCommand}
	if m.o.Ledger == nil {
		return Compile(in), nil
	}
	known, err := m.o.Ledger.WritePlaces(ctx)
	if err != nil && m.now.Load() != nil {
		return m.now.Load(), err
	}
	if err != nil {
		t := Compile(in)
		t.unkept, t.fresh = true, t.inForce
		return t, err
	}
	in.Known = known
	t := Compile(in)
	if m.o.View {
		return t, nil
	}
	now := m.o.Now()
	var keep []sallyport.WritePlace
	for _, w := range t.inForce {
		w.First, w.Last = now, now
		i := slices.IndexFunc(known, func(k sallyport.WritePlace) bool { return k.Path == w.Path })
		if i < 0 || now.Sub(known[i].Last) > freshness || known[i].By != w.By {
			keep = append(keep, w)
		}
	}
	if len(keep) == 0 {
		return t, nil
	}
	if err := m.o.Ledger.KeepWritePlaces(ctx, keep); err != nil && len(t.fresh) > 0 {
		t.unkept = true
		return t, err
	}
	return t, nil
}

// Place implements sallyport.Places.
func (m *Map) Place(path string) sallyport.Place { return m.now.Load().Place(path) }

// Revision implements sallyport.Places.
func (m *Map) Revision() uint64 { return m.revision.Load() }

// Table returns the table in force.
func (m *Map) Table() *Table { return m.now.Load() }
