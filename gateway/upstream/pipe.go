package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/budget"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// processPipe is the connection to a process: messages on its standard input and
// output.
type processPipe struct {
	in    *stdinWriter
	out   io.ReadCloser
	frame *messageFrame
	lines *json.Decoder
	// list is the rest of several messages that arrived in one list, listed the
	// number of those that were read, and listHeld covers all of them.
	list     []byte
	listed   int
	listHeld *budget.Holding
	// size is the size of the message that was read last, and held its share of
	// the memory budget of all servers.
	size   int
	held   *budget.Holding
	closed sync.Once
}

// newPipe reads the messages of a process from out and writes them to in.
func newPipe(l *connLink, in *stdinWriter, out io.ReadCloser) *processPipe {
	p := &processPipe{in: in, out: out}
	p.frame = &messageFrame{r: out, l: l, giveWay: func() { _ = p.Close() }}
	p.lines = json.NewDecoder(p.frame)
	return p
}

// claimHolding hands over the budget share of the message that was read last.
func (p *processPipe) claimHolding() *budget.Holding {
	h := p.held
	p.held = nil
	return h
}

// Connect returns the pipe, which is already connected.
func (p *processPipe) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID is empty: only HTTP has session ids.
func (*processPipe) SessionID() string { return "" }

// Close closes both ends.
func (p *processPipe) Close() error {
	var err error
	p.closed.Do(func() { err = errors.Join(p.out.Close(), p.in.Close()) })
	return err
}

// Read returns the next message.
func (p *processPipe) Read(context.Context) (jsonrpc.Message, error) {
	if p.list == nil {
		text, err := p.nextMessage()
		if err != nil {
			p.frame.l.s.m.memory.releaseHolding(p.frame.claimHolding())
			p.lines = json.NewDecoder(p.frame) // without the bytes that it has read
			return nil, err
		}
		if text[0] != '[' {
			p.size = len(text)
			return decodeMessage(text)
		}
		if err := p.openList(text); err != nil {
			return nil, err
		}
	}
	text, err := p.nextInList()
	if err != nil {
		return nil, err
	}
	p.size = len(text)
	return decodeMessage(text)
}

// openList begins a list of messages, as an older generation of the protocol sends
// it.
func (p *processPipe) openList(text []byte) error {
	rest := rawjson.Blank(text[1:])
	if rest[0] == ']' {
		return errors.New("empty batch")
	}
	p.held.Pin()
	p.list, p.listed, p.listHeld, p.held = rest, 0, p.held, nil
	return nil
}

// nextInList takes the next message out of the list. It copies the message, so that
// one answer does not keep the whole list in memory.
func (p *processPipe) nextInList() ([]byte, error) {
	if p.listed++; p.listed > maxBatch {
		return nil, p.frame.endAtLimit(errBatch)
	}
	item, rest := rawjson.NextItem(p.list)
	if len(item) > freeBytes {
		covered := int64(0)
		p.held = p.frame.newHolding()
		if p.frame.l.s.m.memory.growHolding(p.held, &covered, int64(len(item))) != nil {
			return nil, p.frame.endAtLimit(errNoRoom)
		}
	}
	text := bytes.Clone(item)
	if p.list = rest; rest[0] == ']' {
		p.dropList()
	}
	return text, nil
}

// dropList forgets the rest of a list.
func (p *processPipe) dropList() {
	p.frame.l.s.m.memory.releaseHolding(p.listHeld)
	p.list, p.listHeld = nil, nil
}

// nextMessage reads one JSON value, which usually stands on one line but may span
// several.
func (p *processPipe) nextMessage() (text json.RawMessage, err error) {
	if err := p.lines.Decode(&text); err != nil {
		return nil, err
	}
	behind, err := p.beginNext()
	if err != nil {
		return nil, err
	}
	if len(behind) > 0 && behind[0] != '\n' && behind[0] != '\r' {
		return nil, errors.New("more text behind a message")
	}
	return rawjson.Blank(text), nil
}

// beginNext begins the next message and returns the first byte after the previous
// one. A decoder that has read a long message is dropped together with its
// buffer.
func (p *processPipe) beginNext() (first []byte, err error) {
	buffered := p.lines.Buffered()
	more, ok := buffered.(interface{ Len() int })
	if !ok {
		return nil, errors.New("the decoder does not say what it holds")
	}
	p.frame.size = more.Len()
	if p.held = p.frame.claimHolding(); p.held == nil {
		first = make([]byte, 1)
		n, _ := buffered.Read(first)
		return first[:n], nil
	}
	left, err := io.ReadAll(buffered)
	p.lines = json.NewDecoder(io.MultiReader(bytes.NewReader(left), p.frame))
	return left[:min(len(left), 1)], err
}

// Write writes a message of the library.
func (p *processPipe) Write(ctx context.Context, m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return p.sendLine(ctx, append(text, '\n'))
}

// sendLine writes a line. If the call was cancelled and the process does not read
// the line, the connection ends.
func (p *processPipe) sendLine(ctx context.Context, line []byte) error {
	return p.in.writeLine(ctx, line, func() { _ = p.Close() })
}

// messageFrame bounds the bytes that are read for one message.
type messageFrame struct {
	r    io.Reader
	l    *connLink
	size int
	// held and covered are the share of the memory budget of all servers;
	// giveWay ends the connection.
	held    *budget.Holding
	covered int64
	giveWay func()
	gaveWay atomic.Bool
}

// claimHolding hands over the budget share of the message that was read.
func (f *messageFrame) claimHolding() *budget.Holding {
	h := f.held
	f.held, f.covered = nil, 0
	return h
}

// reserveBytes reserves memory for the bytes that were read before the buffer grows.
func (f *messageFrame) reserveBytes() error {
	if f.size <= freeBytes {
		return nil
	}
	if f.held == nil {
		f.held = f.newHolding()
	}
	return f.l.s.m.memory.growHolding(f.held, &f.covered, int64(f.size))
}

// newHolding returns a holding for a message. If it gives way, the connection ends.
func (f *messageFrame) newHolding() *budget.Holding {
	return f.l.holdMemory(func() {
		f.gaveWay.Store(true)
		f.giveWay()
	})
}

// Read reads.
func (f *messageFrame) Read(b []byte) (int, error) {
	if f.size >= maxMessage {
		return 0, f.endAtLimit(errTooLong)
	}
	n, err := f.r.Read(b[:min(len(b), maxMessage-f.size)])
	f.size += n
	if limit := f.reserveBytes(); limit != nil || f.gaveWay.Load() {
		return 0, f.endAtLimit(errNoRoom)
	}
	return n, err
}

// endAtLimit fails with the bound that was reached.
func (f *messageFrame) endAtLimit(limit *limitError) error {
	f.l.recordLimit(limit)
	f.l.s.m.memory.releaseHolding(f.claimHolding())
	return limit
}
