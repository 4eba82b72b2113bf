package known

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/internal/setting"
)

const (
	// MaxGrown bounds the members by which one set grows. A person said yes to each
	// of them.
	MaxGrown = 10_000
	// MaxValue bounds such a member, in bytes.
	MaxValue = 1024
	// fresh is how long members that were read count, and so how late this process
	// may see what another one added or removed.
	fresh = 250 * time.Millisecond
)

// ErrUnreadable: the state holds members that this program did not write. They count for
// nothing, and calls that depend on them do not run.
var ErrUnreadable = errors.New("the members by which the set grew cannot be read")

// Member is a value by which a set grew. It is plain data.
type Member struct {
	// Value is the value as the held call had it.
	Value string `json:"value"`
	// Kind is what the members of the set were then. The member counts while they
	// still are.
	Kind sallyport.ValueKind `json:"kind"`
	// By is the name of the person who gave it.
	By string `json:"by"`
	// Reason is that person's reason; it may be empty.
	Reason string `json:"reason,omitempty"`
	// Approval is the id of the held call that asked for it.
	Approval string `json:"approval"`
	// Given is the time from which the member counts.
	Given time.Time `json:"given"`
}

// exactForm returns the form in which members are compared.
func (m *Member) exactForm() string { return provenance.Exact(m.Kind, m.Value) }

// Growth is what the sets of a state grew by. It is safe for concurrent use, and several
// processes may use one state. The members of a set are one setting.
type Growth struct {
	settings setting.Store
	now      func() time.Time

	mu     sync.Mutex
	cached map[string]*Values
	past   map[string]*pastValues // see ValuesAt
}

// NewGrowth returns what the sets of a state grew by. A nil clock means time.Now.
func NewGrowth(settings setting.Store, now func() time.Time) *Growth {
	if now == nil {
		now = time.Now
	}
	return &Growth{settings: settings, now: now, cached: map[string]*Values{}}
}

// settingOf is the name of the setting with the members of a set.
func settingOf(set string) string { return "known." + set }

// Values returns the values by which a set grew. What another process changed is seen
// within a quarter of a second.
func (g *Growth) Values(ctx context.Context, set string) (*Values, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.cached[set]
	if was != nil && g.now().Sub(was.read).Abs() < fresh {
		return was, nil
	}
	read := g.now()
	text, _, err := g.settings.Get(ctx, settingOf(set))
	if err != nil {
		return nil, err
	}
	if was == nil || was.text != text {
		list, err := decodeMembers(text)
		if err != nil {
			return nil, err
		}
		was = newValues(text, list)
		g.cached[set] = was
	}
	was.read = read
	return was, nil
}

// ValuesAt returns the values by which a set had grown at a time, without those that were
// removed since. It is for one look at a past: what another process changes after the
// first call is not seen.
func (g *Growth) ValuesAt(ctx context.Context, set string, at time.Time) (*Values, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	all, ok := g.past[set]
	if !ok {
		list, err := g.Members(ctx, set)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(list, func(a, b Member) int { return a.Given.Compare(b.Given) })
		all = &pastValues{members: list}
		if g.past == nil {
			g.past = map[string]*pastValues{}
		}
		g.past[set] = all
	}
	n, _ := slices.BinarySearchFunc(all.members, at, func(m Member, at time.Time) int {
		if m.Given.After(at) {
			return 1
		}
		return -1
	})
	if all.values == nil || all.n != n {
		all.values, all.n = newValues("", all.members[:n]), n
	}
	return all.values, nil
}

// pastValues are members by the time at which they were given, and the first n of them
// ready to be compared.
type pastValues struct {
	members []Member
	n       int
	values  *Values
}

// Members returns the members by which a set grew, the oldest first.
func (g *Growth) Members(ctx context.Context, set string) ([]Member, error) {
	text, _, err := g.settings.Get(ctx, settingOf(set))
	if err != nil {
		return nil, err
	}
	return decodeMembers(text)
}

// Add adds a member to a set; added is false when the set grew by the value before.
func (g *Growth) Add(ctx context.Context, set string, m Member) (added bool, err error) {
	form := m.exactForm()
	if form == "" || len(m.Value) > MaxValue {
		return false, fmt.Errorf("a member has 1 to %d bytes", MaxValue)
	}
	err = g.change(ctx, set, func(list []Member) ([]Member, error) {
		added = !slices.ContainsFunc(list, func(old Member) bool { return old.Kind == m.Kind && old.exactForm() == form })
		switch {
		case !added:
			return list, nil
		case len(list) >= MaxGrown:
			return nil, fmt.Errorf("known.%s grew by %d members, which is the most: move some into its list or file", set, len(list))
		}
		return append(list, m), nil
	})
	return added && err == nil, err
}

// Remove removes the members that a function selects, and returns them.
func (g *Growth) Remove(ctx context.Context, set string, which func(m *Member) bool) (gone []Member, err error) {
	err = g.change(ctx, set, func(list []Member) ([]Member, error) {
		gone = nil
		return slices.DeleteFunc(list, func(m Member) bool {
			if !which(&m) {
				return false
			}
			gone = append(gone, m)
			return true
		}), nil
	})
	if err != nil {
		return nil, err
	}
	return gone, nil
}

// change changes the members of a set in one write, on top of what other processes
// wrote. A list of the same length is not written.
func (g *Growth) change(ctx context.Context, set string, do func(list []Member) ([]Member, error)) error {
	err := setting.Change(ctx, g.settings, settingOf(set), func(was string, _ bool) (string, error) {
		list, err := decodeMembers(was)
		if err != nil {
			return "", err
		}
		n := len(list)
		if list, err = do(list); err != nil || len(list) == n {
			return was, err
		}
		text, err := json.Marshal(list)
		return string(text), err
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.cached, set)
	return err
}

// decodeMembers returns the members of a text. A field that this program does not know
// may be a bound: such members count for nothing.
func decodeMembers(text string) (list []Member, err error) {
	if text == "" {
		return nil, nil
	}
	if err := setting.Decode(text, &list); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if len(list) > MaxGrown {
		return nil, ErrUnreadable
	}
	return list, nil
}

// Values are the values by which a set grew, ready to be compared. They do not change;
// nil has none.
type Values struct {
	text string
	read time.Time // guarded by the mutex of the growth

	members map[typedValue]bool
	texts   provenance.Index
}

// typedValue is a value in its exact form with what it is.
type typedValue struct {
	kind  sallyport.ValueKind
	exact string
}

func newValues(text string, list []Member) *Values {
	v := &Values{text: text, members: make(map[typedValue]bool, len(list))}
	for i := range list {
		one := typedValue{list[i].Kind, list[i].exactForm()}
		if one.exact == "" || v.members[one] {
			continue
		}
		v.members[one] = true
		if one.kind == effect.Text {
			v.texts.Add(one.exact)
		}
	}
	return v
}

// has reports whether a value is a member.
func (v *Values) has(kind sallyport.ValueKind, exact string) bool {
	return v != nil && v.members[typedValue{kind, exact}]
}

// holds reports whether a value is a member, or for the kind text within one.
func (v *Values) holds(kind sallyport.ValueKind, exact string) bool {
	return v.has(kind, exact) || v != nil && kind == effect.Text && v.texts.Contains(exact)
}
