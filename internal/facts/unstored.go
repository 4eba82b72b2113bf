package facts

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// movePause is how long a store that could not take marks is left alone.
	movePause = time.Second
	// moveWait bounds the time for which moving marks holds up a call.
	moveWait = 100 * time.Millisecond
)

// Unstored keeps in memory the marks that a store could not take, until it can. They count
// like those of the store as long as the process lives. The zero value is empty. It is safe
// for concurrent use.
type Unstored struct {
	held atomic.Bool // whether there are any

	mu     sync.Mutex
	memory *Memory
	next   time.Time // when the store is asked again
}

// Note keeps marks. The error matches ErrFull when there is no room.
func (u *Unstored) Note(name, session string, marks []sallyport.FactMark) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.memory == nil {
		u.memory = NewMemory()
	}
	_, err := u.memory.Note(context.Background(), name, session, marks)
	u.held.Store(len(u.memory.all) > 0)
	u.next = time.Now().Add(movePause)
	return err
}

// Facts returns the marks of a principal and a session. Who reads the store, too, reads it
// afterwards: marks move there.
func (u *Unstored) Facts(name, session string) []sallyport.FactMark {
	if !u.held.Load() {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.memory.all[name].marksOf(session)
}

// Move moves what there is to a store beside a call, when the store has not failed for a
// second. What cannot be moved in a tenth of a second stays.
func (u *Unstored) Move(ctx context.Context, store sallyport.FactStore) {
	if !u.held.Load() || !u.beginMove() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, moveWait)
	defer cancel()
	u.MoveAll(ctx, store)
}

// MoveAll moves what there is to a store until the context ends. What the store cannot take
// stays.
func (u *Unstored) MoveAll(ctx context.Context, store sallyport.FactStore) {
	if !u.held.Load() {
		return
	}
	for _, m := range u.listMarks() {
		if _, err := store.Note(ctx, m.name, m.session, m.marks); err != nil {
			return
		}
		u.removeMarks(&m)
	}
}

// beginMove reports whether the store is asked now. For the next second no other caller
// asks it.
func (u *Unstored) beginMove() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Now().Before(u.next) {
		return false
	}
	u.next = time.Now().Add(movePause)
	return true
}

// unstoredMarks is what a store could not take of one session, or of calls without one.
type unstoredMarks struct {
	name, session string
	marks         []sallyport.FactMark
}

func (u *Unstored) listMarks() (all []unstoredMarks) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for name, p := range u.memory.all {
		if len(p.marks) > 0 {
			all = append(all, unstoredMarks{name: name, marks: slices.Clone(p.marks)})
		}
		for session, marks := range p.sessions {
			all = append(all, unstoredMarks{name, session, slices.Clone(marks)})
		}
	}
	return all
}

// removeMarks forgets marks that a store has taken. One that is newer than that stays.
func (u *Unstored) removeMarks(m *unstoredMarks) {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.memory.all[m.name]
	if p == nil {
		return
	}
	taken := func(mark sallyport.FactMark) bool {
		return slices.ContainsFunc(m.marks, func(t sallyport.FactMark) bool { return t.Fact == mark.Fact && !mark.Time.After(t.Time) })
	}
	if m.session == "" {
		p.marks = slices.DeleteFunc(p.marks, taken)
	} else if left := slices.DeleteFunc(p.sessions[m.session], taken); len(left) > 0 {
		p.sessions[m.session] = left
	} else {
		delete(p.sessions, m.session)
	}
	if len(p.marks) == 0 && len(p.sessions) == 0 {
		delete(u.memory.all, m.name)
	}
	u.held.Store(len(u.memory.all) > 0)
}
