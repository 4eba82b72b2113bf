package provenance

import (
	"container/list"
	"hash/maphash"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// MaxTotal bounds what the memories of all conversations take together, in
	// bytes. Of the principal whose conversations take most, the one that was idle
	// longest is forgotten first, and what it read later counts as not known.
	MaxTotal = 64 << 20
	// maxRead bounds the calls of one conversation whose results it is known to
	// have, in number.
	maxRead = 4096
	// MaxOthers bounds the other conversations of a principal in which a value is looked
	// for, in number. When more read something lately, only those that read last are looked
	// into, and every value counts as one that the rest read.
	MaxOthers = 1000
)

// Sessions holds the memories of conversations. The zero value is empty. It is safe
// for concurrent use.
type Sessions struct {
	mu    sync.Mutex
	all   map[string]*shelf // by principal
	total int
}

// shelf holds the conversations of one principal.
type shelf struct {
	all   map[string]*list.Element // by session, each an element of order
	order list.List                // of *conversation, most recently used first
	reads list.List                // of *conversation, the one that read last first
	total int
	// lost is until when something counts for all sessions that was read and is not
	// known here; zero when everything is known.
	lost time.Time
}

// lose says that something was read at a time that is not known here. The mark of it
// may give way to that of a later call, which is known: that it is lost stays.
func (of *shelf) lose(read time.Time) {
	if until := read.Add(sallyport.PrincipalFactAge + sallyport.FactStep); until.After(of.lost) {
		of.lost = until
	}
}

type sessionKey struct{ principal, session string }

// conversation is what one session read.
type conversation struct {
	key    sessionKey
	memory *Memory
	bytes  int           // of total
	used   time.Time     // when it last read something
	read   callSet       // the calls that brought untrusted content and are known here
	place  *list.Element // in the reads of its shelf
}

// noteRead says that a conversation reads something now.
func (of *shelf) noteRead(c *conversation) {
	c.used = time.Now()
	of.reads.MoveToFront(c.place)
}

// Begin says that a call of a session, which is about to run, may bring untrusted
// content. What it brings is added when it has its result, before anything is returned;
// until [Sessions.End] it may tell its caller more than that, as progress.
func (s *Sessions) Begin(principal, session, call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversationOf(sessionKey{principal, session})
	if len(c.read.ids) >= maxRead {
		c.read = callSet{}
		c.memory.Flood()
	}
	c.read.begin(digestOf(call))
	s.shelfOf(principal).noteRead(c)
	s.charge(c, c.memory.Bytes())
}

// digestSeed makes digests that are good in this process alone, so that no caller can
// choose an id with the digest of another.
var digestSeed = maphash.MakeSeed()

func digestOf(call string) uint64 { return maphash.String(digestSeed, call) }

// End says that a call that began has ended.
func (s *Sessions) End(principal, session, call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.find(principal, session); e != nil {
		e.Value.(*conversation).read.end(digestOf(call))
	}
}

// Add remembers the texts of a result for its session.
func (s *Sessions) Add(principal, session string, from Source, texts ...string) {
	s.mu.Lock()
	c := s.conversationOf(sessionKey{principal, session})
	s.shelfOf(principal).noteRead(c)
	memory := c.memory
	s.mu.Unlock()
	memory.Add(from, texts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.charge(c, memory.Bytes())
}

// Flood says that a session read what has no text, such as a picture.
func (s *Sessions) Flood(principal, session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversationOf(sessionKey{principal, session})
	s.shelfOf(principal).noteRead(c)
	c.memory.Flood()
	s.charge(c, c.memory.Bytes())
}

// conversationOf returns the conversation of a session, a new one where there is
// none.
func (s *Sessions) conversationOf(k sessionKey) *conversation {
	of := s.shelfOf(k.principal)
	if e := of.all[k.session]; e != nil {
		of.order.MoveToFront(e)
		return e.Value.(*conversation)
	}
	c := &conversation{key: k, memory: new(Memory)}
	of.all[k.session], c.place = of.order.PushFront(c), of.reads.PushBack(c)
	s.charge(c, 0)
	return c
}

// shelfOf returns the conversations of a principal, none where there is none.
func (s *Sessions) shelfOf(principal string) *shelf {
	of := s.all[principal]
	if of == nil {
		of = &shelf{all: map[string]*list.Element{}}
		if s.all == nil {
			s.all = map[string]*shelf{}
		}
		s.all[principal] = of
	}
	return of
}

func (s *Sessions) find(principal, session string) *list.Element {
	if of := s.all[principal]; of != nil {
		return of.all[session]
	}
	return nil
}

// conversationCost is what an empty conversation takes, in bytes.
const conversationCost = 512

// charge counts what a conversation takes, and forgets idle ones beyond the bound.
func (s *Sessions) charge(c *conversation, bytes int) {
	if e := s.find(c.key.principal, c.key.session); e == nil || e.Value != c {
		return // it was forgotten since
	}
	bytes += conversationCost + c.read.bytes()
	s.total += bytes - c.bytes
	s.all[c.key.principal].total += bytes - c.bytes
	c.bytes = bytes
	for s.total > MaxTotal {
		idle := s.findIdle(c)
		if idle == nil {
			return
		}
		s.forget(idle)
	}
}

// findIdle returns the conversation that has to make room: of the principal that takes
// most, or else the next, the one that was idle longest. One that fills the memory so
// takes nothing from the others. It is not the one that is kept.
func (s *Sessions) findIdle(kept *conversation) (idle *list.Element) {
	var most *shelf
	for _, of := range s.all {
		e := of.order.Back()
		if e != nil && e.Value == kept {
			e = e.Prev()
		}
		if e != nil && (most == nil || of.total > most.total || of.total == most.total && lastUsed(e).Before(lastUsed(idle))) {
			most, idle = of, e
		}
	}
	return idle
}

func lastUsed(e *list.Element) time.Time { return e.Value.(*conversation).used }

// forget removes a conversation for want of room: what it read is lost.
func (s *Sessions) forget(e *list.Element) {
	s.remove(e)
	c := e.Value.(*conversation)
	s.all[c.key.principal].lose(c.used)
}

func (s *Sessions) remove(e *list.Element) {
	c := e.Value.(*conversation)
	of := s.all[c.key.principal]
	s.total -= c.bytes
	of.total -= c.bytes
	of.order.Remove(e)
	of.reads.Remove(c.place)
	delete(of.all, c.key.session)
}

// Bytes returns what the memories take together, in bytes.
func (s *Sessions) Bytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// ForgetIdle forgets what a session read, if nothing was read in it since a time: its
// marks were forgotten, perhaps by another process.
func (s *Sessions) ForgetIdle(principal, session string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(principal, session)
	if e == nil {
		return
	}
	if c := e.Value.(*conversation); len(c.read.running) == 0 && c.used.Before(since) {
		s.remove(e)
	}
}

// Lose says that what a session may have read is not known.
func (s *Sessions) Lose(principal, session string) {
	s.Flood(principal, session)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelfOf(principal).lose(time.Now())
}
