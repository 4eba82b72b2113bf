package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
)

// session is what the requests of one client share: a session of HTTP, or a stdio
// stream. It is safe for concurrent use.
type session struct {
	id string
	// who returns the principal as of its last request. ok is false when the
	// session has ended.
	who  func() (p sallyport.Principal, ok bool)
	gone chan struct{} // closed when the session has ended

	mu       sync.Mutex
	open     bool           // a client has begun to speak
	begun    bool           // the client has sent initialize
	able     wire.Abilities // declared there; they do not change
	messages bool           // the client wants log messages
	follows  map[string]struct{}
	asked    map[int64]chan wire.Message // questions without an answer
	count    int64                       // questions
}

// begin records what the client declares. It returns false when the session has
// begun already.
func (s *session) begin(able wire.Abilities) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		return false
	}
	s.open, s.begun, s.able = true, true, able
	return true
}

// markOpen records that a client speaks a protocol without sessions.
func (s *session) markOpen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
}

// state returns whether the client has begun, what it declared, and whether it
// wants log messages.
func (s *session) state() (open bool, able wire.Abilities, messages bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, s.able, s.messages
}

func (s *session) wantMessages(wants bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = wants
}

func (s *session) follow(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.follows == nil {
		s.follows = map[string]struct{}{}
	}
	s.follows[uri] = struct{}{}
}

func (s *session) unfollow(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.follows, uri)
}

// tellChanges tells the client of changes until the session or the context ends,
// or the client has gone.
func (s *session) tellChanges(ctx context.Context, changed <-chan struct{}, way carrier) {
	r := &request{carrier: way}
	for {
		select {
		case <-changed:
			if what, ok := s.changesToTell(); ok && what.tell(r.notify) != nil {
				return
			}
		case <-s.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

// changesToTell returns what the client is told of after a change. ok is false
// before the session has begun.
func (s *session) changesToTell() (what changeInterest, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return changeInterest{tools: true, prompts: true, resources: true, uris: slices.Sorted(maps.Keys(s.follows))}, s.begun
}

// askClient sends a question by send and waits for the result of its answer.
func (s *session) askClient(ctx context.Context, send func([]byte) error, method string, params any) (json.RawMessage, error) {
	id, answered := s.addQuestion()
	defer s.removeQuestion(id)
	text, err := wire.AppendCall(nil, id, method, params)
	if err != nil {
		return nil, err
	}
	if err := send(text); err != nil {
		return nil, err
	}
	select {
	case m := <-answered:
		if m.Error != nil {
			return nil, fmt.Errorf("the client answered with an error: %.200s", m.Error)
		}
		return m.Result, nil
	case <-ctx.Done():
		// The client may close what it shows to a person.
		if text, err = wire.AppendCall(nil, 0, methodCancelled, map[string]any{"requestId": id, "reason": "no answer is needed any more"}); err == nil {
			_ = send(text) // it fails if the client has gone
		}
		return nil, ctx.Err()
	case <-s.gone:
		return nil, errors.New("the session has ended")
	}
}

func (s *session) addQuestion() (id int64, answered chan wire.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[int64]chan wire.Message{}
	}
	s.count++
	answered = make(chan wire.Message, 1)
	s.asked[s.count] = answered
	return s.count, answered
}

func (s *session) removeQuestion(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, id)
}

// deliverAnswer hands an answer to the question that it belongs to. It drops
// answers to questions that were not asked, and second answers.
func (s *session) deliverAnswer(m *wire.Message) {
	id, ok := wire.IDKey(m.ID).(int64)
	if !ok {
		return
	}
	s.mu.Lock()
	answered := s.asked[id]
	delete(s.asked, id)
	s.mu.Unlock()
	if answered != nil {
		answered <- *m
	}
}
