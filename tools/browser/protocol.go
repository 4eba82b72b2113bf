package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/browser/internal/wire"
)

const (
	// maxMessageBytes bounds a message of the browser. A page decides how long an
	// answer about it becomes; a longer one is dropped, and its call fails.
	maxMessageBytes = 48 << 20
	// maxWaitingBytes bounds what the browser has not read yet.
	maxWaitingBytes = 4 << 20
	// headBytes is how much is kept of a message that is dropped, for its number.
	headBytes = 64
	// firstBytes is what a message gets room for before it is there.
	firstBytes = 4 << 20
)

var (
	errTooLong    = wire.ErrTooLong
	errNotReading = errors.New("the browser does not read what it is told")
)

// protocolError is what the browser answers to a command that it refuses.
type protocolError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *protocolError) Error() string { return e.Message }

// conversation speaks the DevTools protocol with a browser, in the binary form of its
// messages. It is the input and the output of the browser at once: the child reads what
// Read returns, and what it writes comes to Write.
type conversation struct {
	// notice is told of events, on the goroutine that reads; it must not wait for
	// answers.
	notice func(session, method string, params wire.Value)

	mu      sync.Mutex
	unread  bytes.Buffer
	more    chan struct{} // something was added to unread
	lastID  int64
	answers map[int64]chan []byte
	fault   error
	ended   chan struct{}

	// What follows belongs to Write.
	message []byte
	missing int64 // what is still to come of the message, once it has its head
	dropped bool  // the message is too long
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

// Write takes what the browser says. Where a message would have to begin and none does, the
// conversation ends.
func (c *conversation) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		taken, err := c.takePiece(p)
		if err != nil {
			c.end(&sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: "the browser has said what cannot be read", Err: err})
			return n - len(p), err
		}
		p = p[taken:]
	}
	return n, nil
}

// takePiece takes what belongs to the message that is being received.
func (c *conversation) takePiece(p []byte) (taken int, err error) {
	if len(c.message) < wire.HeadBytes {
		taken = min(len(p), wire.HeadBytes-len(c.message))
		c.message = append(c.message, p[:taken]...)
		if len(c.message) == wire.HeadBytes {
			err = c.beginMessage()
		}
		return taken, err
	}
	taken = int(min(int64(len(p)), c.missing))
	kept := p[:taken]
	if c.dropped {
		kept = kept[:min(taken, headBytes-len(c.message))]
	} else if cap(c.message)-len(c.message) < taken {
		c.message = slices.Grow(c.message, int(min(c.missing, int64(max(taken, len(c.message))))))
	}
	c.message = append(c.message, kept...)
	if c.missing -= int64(taken); c.missing == 0 {
		c.receiveMessage()
	}
	return taken, nil
}

// beginMessage makes room for the message whose head is there.
func (c *conversation) beginMessage() error {
	n, err := wire.MessageLen(c.message)
	if err != nil {
		return err
	}
	c.missing, c.dropped = n-int64(wire.HeadBytes), n > maxMessageBytes
	if !c.dropped {
		c.message = slices.Grow(c.message, int(min(c.missing, firstBytes)))
	}
	return nil
}

// receiveMessage handles the message that is complete.
func (c *conversation) receiveMessage() {
	m, dropped := c.message, c.dropped
	c.message, c.dropped = nil, false
	if id, ok := wire.AnswerID(m); ok {
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
	if event, err := readMembers(m, "method", "params", "sessionId"); err == nil {
		method, _ := event[0].Text()
		session, _ := event[2].Text()
		c.notice(session, method, event[1])
	}
}

// readMembers returns members of a message, nil for each that it does not have.
func readMembers(m wire.Value, names ...string) ([]wire.Value, error) {
	values := make([]wire.Value, len(names))
	for member, err := range m.Members() {
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(names, member.Is); i >= 0 {
			values[i] = member.Value
		}
	}
	return values, nil
}

// tellBrowser sends a command whose answer does not matter.
func (c *conversation) tellBrowser(session, method string, params any) {
	_, _ = c.sendCommand(session, method, params, nil)
}

// sendCommand sends a command. What the browser answers goes to answer, which has room
// for it, unless that is nil.
func (c *conversation) sendCommand(session, method string, params any, answer chan []byte) (id int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault != nil {
		return 0, c.fault
	}
	c.lastID++
	command, err := json.Marshal(struct {
		ID        int64  `json:"id"`
		SessionID string `json:"sessionId,omitempty"`
		Method    string `json:"method"`
		Params    any    `json:"params,omitempty"`
	}{c.lastID, session, method, params})
	if err == nil {
		command, err = wire.FromJSON(command)
	}
	if err != nil {
		return 0, err
	}
	if c.unread.Len()+len(command) > maxWaitingBytes {
		return 0, errNotReading
	}
	c.unread.Write(command)
	if answer != nil {
		c.answers[c.lastID] = answer
	}
	select {
	case c.more <- struct{}{}:
	default:
	}
	return c.lastID, nil
}

// forgetCommand drops the answer to a command, if one is still to come.
func (c *conversation) forgetCommand(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answers, id)
}

// askBrowser sends a command and decodes the answer into out, unless that is nil.
func (c *conversation) askBrowser(ctx context.Context, session, method string, params, out any) error {
	answer := make(chan []byte, 1)
	id, err := c.sendCommand(session, method, params, answer)
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		return decodeAnswer(m, method, out)
	case <-c.ended:
		return c.fault
	case <-ctx.Done():
		c.forgetCommand(id)
		return ctx.Err()
	}
}

// directReader is a result that is read from the message itself.
type directReader interface {
	readResult(result wire.Value) error
}

func decodeAnswer(m []byte, method string, out any) error {
	if m == nil {
		return errTooLong
	}
	answer, err := readMembers(m, "result", "error")
	if err == nil && answer[1] != nil {
		var refused protocolError
		if err = decodeJSON(answer[1], &refused); err == nil {
			return &refused
		}
	}
	if err == nil && answer[0] != nil && out != nil {
		if direct, ok := out.(directReader); ok {
			err = direct.readResult(answer[0])
		} else {
			err = decodeJSON(answer[0], out)
		}
	}
	if err != nil && !errors.Is(err, errTooLong) {
		err = fmt.Errorf("the browser's answer to %s cannot be read: %w", method, err)
	}
	return err
}

// decodeJSON decodes a value as the JSON that it stands for.
func decodeJSON(v wire.Value, out any) error {
	text, err := v.JSON(maxMessageBytes)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}
