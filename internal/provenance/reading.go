package provenance

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
)

// A Reading is what a caller may have read: the memories of its session, and of the
// other sessions of its principal that read something lately. It looks into what they have
// when it is first asked. Do not copy it after that. It is not safe for concurrent use.
type Reading struct {
	own    *Memory   // of the session; nil when it read nothing
	others []*Memory // of the other sessions of the principal
	// Unknown says that something was read that no memory here has, or was not looked for.
	Unknown bool
	// Elsewhere is a call that read some of that and is not known in this process, such as
	// one before a restart; empty when none counts any more.
	Elsewhere string

	views  []view  // what the memories have; see viewMemories
	few    [2]view // room for views: enough for most sessions
	viewed bool
	floods bool // a memory lacks something
	work   int  // what was done to find values, in looks at a filter
	look   int  // the work after which a search looks whether its call has ended

	// Of the newest search, which itself needs no memory then.
	match Match // what it found
	err   error // why it ended before it was done, which it stays
}

// Reading returns what a session may have read at a time, given the marks of untrusted
// content that count. A mark of a call that is not known here, such as one of another process or
// of one that has ended, makes the reading unknown, and so does a call that still runs.
// The call that asks is none of them. What makes a reading unknown once does so as long as
// it counts: for a session as long as it lasts, for the others of the principal for
// [sallyport.PrincipalFactAge]. More than [MaxOthers] other sessions make it unknown, too.
func (s *Sessions) Reading(principal, session, call string, marks []sallyport.FactMark, now time.Time) (r Reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// On the stack: enough for the marks of two facts.
	var few [8]bool
	var fewIDs [8]uint64
	known, ids := append(few[:0], make([]bool, len(marks))...), fewIDs[:0]
	for i := range marks {
		id := uint64(0) // it is not asked for
		if marks[i].Fact == sallyport.FactUntrusted {
			id = digestOf(marks[i].CallID)
		}
		ids = append(ids, id)
	}
	asks := digestOf(call)
	add := func(c *conversation) {
		for i := range ids {
			known[i] = known[i] || marks[i].Fact == sallyport.FactUntrusted && c.read.has(ids[i])
		}
		r.Unknown = r.Unknown || c.read.runsBeside(asks)
	}
	of := s.shelfOf(principal)
	if e := of.all[session]; e != nil {
		of.order.MoveToFront(e)
		c := e.Value.(*conversation)
		r.own = c.memory
		add(c)
	}
	all := true
	for e := of.reads.Front(); e != nil; e = e.Next() {
		c := e.Value.(*conversation)
		switch {
		case c.memory == r.own:
			continue
		case now.Sub(c.used) > sallyport.PrincipalFactAge+sallyport.FactStep:
		case len(r.others) < MaxOthers:
			r.others = append(r.others, c.memory)
			add(c)
			continue
		default:
			r.Unknown, all = true, false
		}
		break
	}
	for i := range marks {
		m := &marks[i]
		if m.Fact != sallyport.FactUntrusted || known[i] || !m.Counts(now) {
			continue
		}
		if r.Unknown = true; all {
			r.Elsewhere = m.CallID
		}
		of.lose(m.Time)
		if m.Session {
			c := s.conversationOf(sessionKey{principal, session})
			c.memory.Flood()
			s.charge(c, c.memory.Bytes())
		}
	}
	r.Unknown = r.Unknown || now.Before(of.lost)
	return r
}

// Others returns what the sessions of a principal read beside one of them. It is not known
// where the call that brought some of it, such as one of another process, is not known here,
// or anything else was lost.
func (s *Sessions) Others(principal, session, call string) (r Reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Unknown = true
	of := s.all[principal]
	if of == nil {
		return r
	}
	brought := digestOf(call)
	for id, e := range of.all {
		c := e.Value.(*conversation)
		if c.read.has(brought) {
			r.Unknown = !of.lost.IsZero()
		}
		if id != session {
			r.others = append(r.others, c.memory)
		}
	}
	return r
}

// viewMemories takes a view of each memory that has something, and no lock afterwards.
func (r *Reading) viewMemories() {
	if r.viewed {
		return
	}
	r.viewed, r.views = true, r.few[:0]
	if r.own != nil {
		r.addView(r.own)
	}
	for _, m := range r.others {
		r.addView(m)
	}
}

func (r *Reading) addView(m *Memory) {
	v, flooded := m.takeView()
	if r.floods = r.floods || flooded; !v.isEmpty() {
		r.views = append(r.views, v)
	}
}

// Find returns what of a value came out of what was read and is not held. Kind is that of a
// value that says where something goes; empty for any other value. A search that the context
// ends returns its error, and says nothing of the value. What takes too long to look for is
// not looked for: the reading is unknown from then on.
func (r *Reading) Find(ctx context.Context, kind sallyport.ValueKind, value string, held Held) (Match, bool, error) {
	r.viewMemories()
	s := search{Reading: r, ended: ctx.Err, held: held}
	s.spendWork(1)
	if found := len(r.views) > 0 && s.findIn(kind, value, maxDecoded); found && !s.isStopped() {
		return r.match, true, nil
	}
	if r.err == nil && r.Flooded() && s.findUnknown(kind, value) && r.err == nil {
		return r.match, true, nil
	}
	return Match{}, false, r.err
}

// Flooded reports whether the reading lacks something that was read.
func (r *Reading) Flooded() bool {
	r.viewMemories()
	return r.Unknown || r.floods
}
