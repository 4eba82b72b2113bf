package upstream

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// readWait bounds how long a server here may leave a message unread that
// somebody has given up: one that works on something else reads on by then.
const readWait = startWait

// stdin is a connection to a process that may stop reading. What is written to
// it ends with its context: the library's own waits for the process, and
// whoever closes the connection waits for that.
type stdin struct {
	mcp.Connection
	// turn is held by the one message that is being written.
	turn    chan struct{}
	written atomic.Uint64
}

func newStdin(c mcp.Connection) *stdin { return &stdin{Connection: c, turn: make(chan struct{}, 1)} }

// Write writes a message. One that is given up half-way is still written, and
// the connection ends when the process does not take it.
func (s *stdin) Write(ctx context.Context, m jsonrpc.Message) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		s.giveUp()
		return ctx.Err()
	}
	done := make(chan error, 1)
	go func() {
		err := s.Connection.Write(context.WithoutCancel(ctx), m)
		s.written.Add(1)
		<-s.turn
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		s.giveUp()
		return ctx.Err()
	}
}

// giveUp ends the connection unless the message that is being written is
// written soon.
func (s *stdin) giveUp() {
	before := s.written.Load()
	time.AfterFunc(readWait, func() {
		if s.written.Load() == before && len(s.turn) > 0 {
			// Its error says that it is over already.
			_ = s.Connection.Close()
		}
	})
}
