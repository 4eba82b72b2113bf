package upstream

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport/internal/budget"
)

// boundedBody is the body of a remote server's answer, decompressed. Reading fails
// at a message that is too long or for which there is no room, whether the
// reader is this package or the library.
type boundedBody struct {
	rc       io.ReadCloser
	l        *connLink
	messages *callMessages
	// events says that messages end with an empty line.
	events bool
	flow   rateMeter
	// counted says that the library decodes the messages. Then the values in each
	// are bounded, too.
	counted bool

	gaveWay atomic.Bool
	// mu guards what follows: another goroutine may close the body.
	mu      sync.Mutex
	held    *budget.Holding
	covered int64
	size    int64 // of the message that is being read
	line    int   // bytes of its current line
	values  valueCounter
	closed  bool
	err     error // sticky
}

// boundBody puts an intake in front of the body of an answer.
func (l *connLink) boundBody(resp *http.Response, e *callMessages, events bool) error {
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		resp.Body.Close()
		return errEncoded
	}
	if resp.ContentLength > maxMessage && !events {
		resp.Body.Close()
		return errTooLong
	}
	if resp.Body != http.NoBody {
		resp.Body = &boundedBody{rc: resp.Body, l: l, messages: e, events: events, flow: rateMeter{rate: whileWorking}}
	}
	return nil
}

// Read reads what the bounds allow.
func (b *boundedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	err := b.err
	b.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := b.rc.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if limit := b.countBytes(p[:n]); limit != nil {
		n, err = 0, limit
	}
	if b.gaveWay.Load() {
		n, err = 0, errNoRoom
	}
	if err != nil {
		b.err = err
		if limit := limitOf(err); limit != nil {
			b.l.recordLimit(limit)
			b.rc.Close()
		}
	}
	return n, err
}

// countBytes counts bytes that were read.
func (b *boundedBody) countBytes(p []byte) error {
	if !b.events {
		b.size += int64(len(p))
		b.countValues(p)
		return b.coverMessage()
	}
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part = p[:end]
		}
		b.size += int64(len(part)) + 1
		b.line += len(bytes.TrimSuffix(part, []byte{'\r'}))
		b.countValues(p[:min(len(part)+1, len(p))])
		if err := b.coverMessage(); err != nil {
			return err
		}
		if end < 0 {
			return nil
		}
		if b.line == 0 {
			if !b.flow.spendBudget(1, int(b.size)) {
				return errStreamFloods
			}
			b.size, b.values = 0, valueCounter{}
		}
		b.line, p = 0, p[end+1:]
	}
	return nil
}

// coverMessage checks the size of a message and reserves memory for it in the budget.
func (b *boundedBody) coverMessage() error {
	switch {
	case b.size > maxMessage:
		return errTooLong
	case b.counted && b.values.count > maxDecoded:
		return errTooMany
	case b.size <= freeBytes || b.closed:
		return nil
	case b.held == nil:
		b.held = b.l.holdMemory(func() {
			b.gaveWay.Store(true)
			b.rc.Close()
		})
	}
	return b.l.s.m.memory.growHolding(b.held, &b.covered, b.size)
}

func (b *boundedBody) countValues(p []byte) {
	if b.counted {
		b.values.addText(p)
	}
}

// valueCounter counts the values in JSON text that arrives in pieces. A string has no
// line feed in it, so that each line can be counted alone.
type valueCounter struct {
	count           int
	quoted, escaped bool
}

func (c *valueCounter) addText(p []byte) {
	for _, b := range p {
		switch {
		case b == '\n':
			c.quoted, c.escaped = false, false
		case c.escaped:
			c.escaped = false
		case b == '"':
			c.quoted = !c.quoted
		case c.quoted:
			c.escaped = b == '\\'
		case b == ',' || b == '[' || b == '{':
			c.count++
		}
	}
}

// Close closes the body. The memory for what was read stays reserved until the
// end of the call.
func (b *boundedBody) Close() error {
	err := b.rc.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if limitOf(b.err) != nil {
		b.l.s.m.memory.releaseHolding(b.held)
	} else {
		b.messages.addHolding(b.l.s.m.memory, b.held)
	}
	b.held = nil
	return err
}

// pieceBytes is how much memory is allocated at once for a long body.
const pieceBytes = 1 << 20

// readAll reads a body. It needs memory for the bytes that have arrived, never
// twice as much.
func readAll(r io.Reader, expected int64) ([]byte, error) {
	first := make([]byte, 0, bytes.MinRead+max(0, min(expected, freeBytes)))
	var pieces [][]byte
	piece := first
	for size := 0; ; {
		n, err := r.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		size += n
		if errors.Is(err, io.EOF) {
			if pieces == nil {
				return piece, nil
			}
			return budget.Join(append(pieces, piece), size), nil
		}
		if err != nil {
			return nil, err
		}
		if len(piece) == cap(piece) {
			pieces = append(pieces, piece)
			piece = make([]byte, 0, min(max(2*cap(piece), 4<<10), pieceBytes))
		}
	}
}
