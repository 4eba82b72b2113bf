package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/rawjson"
)

// pipe is the connection to a process: messages on its standard input and
// output.
type pipe struct {
	in    *inlet
	out   io.ReadCloser
	frame *frame
	lines *json.Decoder
	// queue is what is left of several messages that came as one.
	queue  []json.RawMessage
	closed sync.Once
}

// newPipe reads the messages of a process from out and writes them to in.
func newPipe(l *link, in *inlet, out io.ReadCloser) *pipe {
	p := &pipe{in: in, out: out}
	p.frame = &frame{r: out, l: l}
	p.lines = json.NewDecoder(p.frame)
	return p
}

// Connect returns the pipe, which is connected.
func (p *pipe) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID is that of HTTP.
func (*pipe) SessionID() string { return "" }

// Close closes both ends.
func (p *pipe) Close() error {
	var err error
	p.closed.Do(func() { err = errors.Join(p.out.Close(), p.in.Close()) })
	return err
}

// Read returns the next message.
func (p *pipe) Read(context.Context) (jsonrpc.Message, error) {
	for len(p.queue) == 0 {
		text, err := p.next()
		if err != nil {
			return nil, err
		}
		p.queue = []json.RawMessage{text}
		if text[0] != '[' {
			break
		}
		// An older generation of the protocol has several in a list.
		if err := json.Unmarshal(text, &p.queue); err != nil {
			return nil, err
		}
		if len(p.queue) == 0 {
			return nil, errors.New("empty batch")
		}
	}
	text := p.queue[0]
	p.queue = p.queue[1:]
	return decode(text)
}

// next reads what stands on one line, or on several when it has no end before.
func (p *pipe) next() (text json.RawMessage, err error) {
	if err := p.lines.Decode(&text); err != nil {
		return nil, err
	}
	p.frame.size = 0
	var behind [1]byte
	if n, _ := p.lines.Buffered().Read(behind[:]); n > 0 && behind[0] != '\n' && behind[0] != '\r' {
		return nil, errors.New("more text behind a message")
	}
	return rawjson.Blank(text), nil
}

// Write writes a message of the library.
func (p *pipe) Write(ctx context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return p.send(ctx, append(text, '\n'))
}

// send writes a line. A process that does not take what somebody has given up
// ends the connection.
func (p *pipe) send(ctx context.Context, line []byte) error {
	return p.in.write(ctx, line, func() { _ = p.Close() })
}

// frame bounds what is read for one message.
type frame struct {
	r    io.Reader
	l    *link
	size int
}

// Read reads.
func (f *frame) Read(b []byte) (int, error) {
	if f.size >= maxMessage {
		return 0, f.over(errTooLong)
	}
	n, err := f.r.Read(b[:min(len(b), maxMessage-f.size)])
	f.size += n
	return n, err
}

// over ends with a bound.
func (f *frame) over(limit *limitError) error {
	f.l.exceeds(limit)
	return limit
}
