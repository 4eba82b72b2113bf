// Package facts keeps the facts of sessions and principals in memory: for
// states that keep nothing, for a gate that was given no store, and for what
// a store could not take.
//
// Start with [NewMemory].
package facts

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

// MaxSessions bounds the sessions of one principal whose facts are stored. The session
// that was inactive longest is removed first.
const MaxSessions = 1000

// maxPrincipals bounds the principals, 100 MB with a few sessions each. One
// whose facts still count is never forgotten for another one.
const maxPrincipals = 100_000

// ErrFull says that the facts of another principal cannot be kept.
var ErrFull = errors.New("the facts of too many principals are kept")

// Memory implements sallyport.FactStore. It is safe for concurrent use.
type Memory struct {
	most int

	mu  sync.Mutex
	all map[string]*principalFacts
}

// principalFacts is what is known of one principal and its sessions. Of each
// fact there is one mark.
type principalFacts struct {
	marks    []sallyport.FactMark
	sessions map[string][]sallyport.FactMark
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{most: maxPrincipals, all: map[string]*principalFacts{}} }

// Facts implements sallyport.FactStore.
func (m *Memory) Facts(ctx context.Context, name, session string) ([]sallyport.FactMark, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[name].marksOf(session), nil
}

// marksOf returns copies of the marks of a principal and a session.
func (p *principalFacts) marksOf(session string) []sallyport.FactMark {
	if p == nil {
		return nil
	}
	return slices.Concat(p.marks, p.sessions[session])
}

// Note implements sallyport.FactStore. The error matches ErrFull when there is
// no room.
func (m *Memory) Note(ctx context.Context, name, session string, marks []sallyport.FactMark) (before []sallyport.FactMark, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before = m.all[name].marksOf(session)
	if len(marks) == 0 {
		return before, nil
	}
	if m.all[name] == nil && !m.makeRoom(marks[0].Time) {
		return nil, ErrFull
	}
	p := m.all[name]
	if p == nil {
		p = &principalFacts{sessions: map[string][]sallyport.FactMark{}}
		m.all[strings.Clone(name)] = p
	}
	p.marks = mergeMarks(p.marks, marks, false)
	if session != "" {
		p.sessions[strings.Clone(session)] = mergeMarks(p.sessions[session], marks, true)
		p.dropOldestSession()
	}
	return before, nil
}

// mergeMarks replaces older marks of the same fact by newer ones, and adds
// the others.
func mergeMarks(have, marks []sallyport.FactMark, session bool) []sallyport.FactMark {
	for _, mark := range marks {
		mark.Session = session
		i := slices.IndexFunc(have, func(old sallyport.FactMark) bool { return old.Fact == mark.Fact })
		switch {
		case i < 0:
			have = append(have, mark)
		case !mark.Time.Before(have[i].Time):
			have[i] = mark
		}
	}
	return have
}

// dropOldestSession drops the session that was quiet longest when there are
// too many.
func (p *principalFacts) dropOldestSession() {
	if len(p.sessions) <= MaxSessions {
		return
	}
	var oldest string
	var at time.Time
	for name, marks := range p.sessions {
		if t := newestTime(marks); at.IsZero() || t.Before(at) {
			oldest, at = name, t
		}
	}
	delete(p.sessions, oldest)
}

// newestTime returns the time of the newest mark.
func newestTime(marks []sallyport.FactMark) (at time.Time) {
	for i := range marks {
		if marks[i].Time.After(at) {
			at = marks[i].Time
		}
	}
	return at
}

// makeRoom reports whether there is room for one more principal, after
// dropping those of whom nothing counts any more if it must.
func (m *Memory) makeRoom(now time.Time) bool {
	if len(m.all) < m.most {
		return true
	}
	for name, p := range m.all {
		if !p.hasLiveMarks(now) {
			delete(m.all, name)
		}
	}
	return len(m.all) < m.most
}

// hasLiveMarks reports whether any mark of a principal still counts, and
// drops the sessions of which none does.
func (p *principalFacts) hasLiveMarks(now time.Time) bool {
	holds := func(mark sallyport.FactMark) bool { return mark.Counts(now) }
	for name, marks := range p.sessions {
		if !slices.ContainsFunc(marks, holds) {
			delete(p.sessions, name)
		}
	}
	return len(p.sessions) > 0 || slices.ContainsFunc(p.marks, holds)
}

// Forget implements sallyport.FactStore.
func (m *Memory) Forget(ctx context.Context, name string) (was bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, was = m.all[name]
	delete(m.all, name)
	return was, nil
}
