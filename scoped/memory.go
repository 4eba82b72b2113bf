package scoped

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/internal/text"
)

// defaultLifetime is how long a note is kept that names no time.
const defaultLifetime = 365 * 24 * time.Hour

// Memory returns the memory of the call, for who knows of it: see [recall.Of].
func (s *kvAccessor) Memory() recall.Memory { return memoryAccessor{s.b} }

// memoryAccessor is the memory of a call. It holds the call to the shelves of its own
// session, principal and role, whatever the caller says, and marks what it keeps.
type memoryAccessor struct{ b *Binding }

// open returns the store and the history, and the error of a call that has none.
func (m memoryAccessor) open() (recall.Store, recall.History, error) {
	if err := m.b.checkLive(); err != nil {
		return nil, nil, err
	}
	backend, ok := m.b.scope.backends.KV.(recall.Backend)
	if !ok {
		return nil, nil, notAvailable("", "the state of this program keeps no memory")
	}
	store, history := backend.Recall()
	return store, history, nil
}

// reaches returns the shelves that the grant covers: a store of the session has no notes
// that outlive it.
func (m memoryAccessor) reaches() []recall.Reach {
	switch m.b.scope.grant.Storage.Scope {
	case sallyport.ScopeSession:
		return []recall.Reach{recall.Session}
	case sallyport.ScopePersonality:
		return recall.Reaches()
	default:
		return nil
	}
}

// shelf returns the name of a shelf that the call may use.
func (m memoryAccessor) shelf(r recall.Reach) (string, error) {
	b := m.b
	owner := recall.Owner{Role: b.personality, Principal: b.principal, SessionKey: b.session, Scope: b.memoryScope}
	if !slices.Contains(m.reaches(), r) {
		return "", notAvailable("", fmt.Sprintf("the declared storage has no memory of reach %q", r))
	}
	if shelf := owner.Shelf(r); shelf != "" {
		return shelf, nil
	}
	return "", notAvailable("", fmt.Sprintf("the call has no memory of reach %q: it has no role", r))
}

func (m memoryAccessor) Keep(ctx context.Context, n recall.Note, lifetime time.Duration) (recall.Note, error) {
	store, _, err := m.open()
	if err != nil {
		return n, err
	}
	shelf, err := m.shelf(n.Reach)
	if err != nil {
		return n, err
	}
	most := recall.MaxLifetime
	if n.Reach == recall.Session {
		most = recall.SessionLifetime
	}
	if lifetime == 0 {
		lifetime = min(defaultLifetime, most)
	}
	switch {
	case strings.TrimSpace(n.Key) == "", text.HasControl(n.Key), utf8.RuneCountInString(n.Key) > recall.MaxKeyChars:
		return n, sallyport.InputInvalid(fmt.Sprintf("the key of a note is one line of 1 to %d characters", recall.MaxKeyChars))
	case strings.TrimSpace(n.Text) == "", utf8.RuneCountInString(n.Text) > recall.MaxTextChars:
		return n, sallyport.InputInvalid(fmt.Sprintf("the text of a note has 1 to %d characters", recall.MaxTextChars))
	case lifetime < 0, lifetime > most:
		return n, sallyport.InputInvalid(fmt.Sprintf("a note of this reach is kept for at most %d days", most/(24*time.Hour)))
	}
	n.Written = time.Now().UTC()
	n.Expires, n.Untrusted, n.Call, n.Author = n.Written.Add(lifetime), m.b.tainted, m.b.id, m.b.principal
	return n, hideBackendError(store.Put(ctx, shelf, n), "the memory failed")
}

func (m memoryAccessor) Find(ctx context.Context, q recall.Query) (recall.Found, error) {
	store, _, err := m.open()
	if err != nil {
		return recall.Found{}, err
	}
	shelves := map[recall.Reach]string{}
	for _, r := range m.reaches() {
		shelf, err := m.shelf(r)
		switch {
		case len(q.Reaches) > 0 && !slices.Contains(q.Reaches, r):
		case err == nil:
			shelves[r] = shelf
		case len(q.Reaches) > 0:
			return recall.Found{}, err
		}
	}
	found, err := store.Find(ctx, shelves, q)
	return found, hideBackendError(err, "the memory failed")
}

func (m memoryAccessor) Forget(ctx context.Context, r recall.Reach, key string) (int, error) {
	store, _, err := m.open()
	if err != nil {
		return 0, err
	}
	shelf, err := m.shelf(r)
	if err != nil {
		return 0, err
	}
	n, err := store.Forget(ctx, shelf, key, !m.b.tainted)
	return n, hideBackendError(err, "the memory failed")
}

func (m memoryAccessor) Calls(ctx context.Context, q recall.CallQuery) (recall.Calls, error) {
	_, history, err := m.open()
	switch {
	case err != nil:
		return recall.Calls{}, err
	case history == nil || m.b.scope.grant.Storage.Scope != sallyport.ScopePersonality:
		return recall.Calls{}, notAvailable("", "the record cannot be searched here")
	}
	q.Principal, q.Role = m.b.principal, m.b.personality
	calls, err := history.Calls(ctx, q)
	return calls, hideBackendError(err, "the record cannot be read")
}
