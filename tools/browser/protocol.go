package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	// maxMessageBytes bounds a message of the browser. A page decides how long an
	// answer about it becomes; a longer one is dropped, and its call fails.
	maxMessageBytes = 48 << 20
	// maxWaitingBytes bounds what the browser has not read yet.
	maxWaitingBytes = 4 << 20
	// headBytes is how much is kept of a message that is dropped, for its number.
	headBytes = 64
)

var (
	errTooLong    = errors.New("the answer of the browser is too long")
	errNotReading = errors.New("the browser does not read what it is told")
)

// protocolError is what the browser answers to a command that it refuses.
type protocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *protocolError) Error() string { return e.Message }

// conversation speaks the DevTools protocol with a browser: JSON messages, each ended by
// a NUL. It is the input and the output of the browser at once: the child reads what
// Read returns, and what it writes comes to Write.
type conversation struct {
	// notice is told of events, on the goroutine that reads; it must not wait for
	// answers.
	notice func(session, method string, params json.RawMessage)

	mu      sync.Mutex
	unread  bytes.Buffer
	more    chan struct{} // something was added to unread
	lastID  int64
	answers map[int64]chan []byte
	fault   error
	ended   chan struct{}

	// What follows belongs to Write.
	message []byte
	dropped bool // the message is too long
}

func newConversation() *conversation {
	return &conversation{more: make(chan struct{}, 1), answers: map[int64]chan []byte{}, ended: make(chan struct{})}
}

// Read gives the browser the commands that it has not read yet.
func (c *conversation) Read(p []byte) (int, error) {
	for {
		c.mu.Lock()
		if c.unread.Len() > 0 {
			n, _ := c.unread.Read(p)
			c.mu.Unlock()
			return n, nil
		}
		c.mu.Unlock()
		select {
		case <-c.more:
		case <-c.ended:
			return 0, io.EOF
		}
	}
}

// Close does nothing: the conversation ends with the child, and says why.
func (c *conversation) Close() error { return nil }

func (c *conversation) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault == nil {
		c.fault = why
		close(c.ended)
	}
}

// Write takes what the browser says.
func (c *conversation) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, 0)
		if end < 0 {
			c.addPiece(p)
			break
		}
		c.addPiece(p[:end])
		c.receiveMessage()
		p = p[end+1:]
	}
	return n, nil
}

func (c *conversation) addPiece(p []byte) {
	switch {
	case c.dropped:
	case len(c.message)+len(p) > maxMessageBytes:
		c.dropped = true
		c.message = append([]byte(nil), c.message[:min(len(c.message), headBytes)]...)
	default:
		c.message = append(c.message, p...)
	}
}

// receiveMessage handles the message that is complete.
func (c *conversation) receiveMessage() {
	m, dropped := c.message, c.dropped
	c.message, c.dropped = nil, false
	if id, ok := answerID(m); ok {
		c.mu.Lock()
		answer := c.answers[id]
		delete(c.answers, id)
		c.mu.Unlock()
		if dropped {
			m = nil
		}
		if answer != nil {
			answer <- m
		}
		return
	}
	if dropped || c.notice == nil {
		return
	}
	var event struct {
		Method    string          `json:"method"`
		Params    json.RawMessage `json:"params"`
		SessionID string          `json:"sessionId"`
	}
	if json.Unmarshal(m, &event) == nil && event.Method != "" {
		c.notice(event.SessionID, event.Method, event.Params)
	}
}

// answerID returns the number that an answer begins with. An event has none.
func answerID(m []byte) (id int64, ok bool) {
	rest, ok := bytes.CutPrefix(m, []byte(`{"id":`))
	for ok && len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' && id < 1<<60 {
		id, rest = 10*id+int64(rest[0]-'0'), rest[1:]
	}
	return id, ok
}

// tellBrowser sends a command whose answer does not matter.
func (c *conversation) tellBrowser(session, method string, params any) {
	_, _ = c.sendCommand(session, method, params)
}

func (c *conversation) sendCommand(session, method string, params any) (answer chan []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != nil {
		return nil, c.fault
	}
	c.lastID++
	command, err := json.Marshal(struct {
		ID        int64  `json:"id"`
		SessionID string `json:"sessionId,omitempty"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
	}{c.lastID, session, method, params})
	if err != nil {
		return nil, err
	}
	if c.unread.Len()+len(command) > maxWaitingBytes {
		return nil, errNotReading
	}
	c.unread.Write(append(command, 0))
	answer = make(chan []byte, 1)
	c.answers[c.lastID] = answer
	select {
	case c.more <- struct{}{}:
	default:
	}
	return answer, nil
}

// askBrowser sends a command and decodes the answer into out, unless that is nil.
func (c *conversation) askBrowser(ctx context.Context, session, method string, params, out any) error {
	answer, err := c.sendCommand(session, method, params)
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		return decodeAnswer(m, method, out)
	case <-c.ended:
		return c.fault
	case <-ctx.Done():
		return ctx.Err()
	}
}

func decodeAnswer(m []byte, method string, out any) error {
	if m == nil {
		return errTooLong
	}
	answer := struct {
		Result any            `json:"result"`
		Error  *protocolError `json:"error"`
	}{Result: out}
	if out == nil {
		answer.Result = new(json.RawMessage)
	}
	if err := json.Unmarshal(m, &answer); err != nil {
		return fmt.Errorf("the browser's answer to %s cannot be read: %w", method, err)
	}
	if answer.Error != nil {
		return answer.Error
	}
	return nil
}
