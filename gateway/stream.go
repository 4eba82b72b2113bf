package gateway

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// direct answers a call or a listing without the library, once that knows which
// protocol the stream speaks, and cancels one. A message of the other generation
// is the library's. It returns false for what is the
// library's.
func (l *lines) direct(e *envelope) bool {
	session := l.library.Load()
	if session == nil || l.server.viaLibrary || l.over() {
		return false
	}
	if e.method == "notifications/cancelled" {
		return l.cancel(anyID(of(e.in, "requestId")))
	}
	d, ok := e.direct()
	begun := session.InitializeParams()
	if !ok || begun == nil || (d.version == "") != (begun.ProtocolVersion < statelessSince) || l.talks(&d, begun) {
		return false
	}
	ctx, cancel := context.WithCancel(l.ctx)
	if !l.enter(d.key, cancel) {
		cancel()
		return true
	}
	go func() {
		defer cancel()
		l.perform(ctx, &d)
	}()
	return true
}

// talks reports whether more than an answer may go to the client.
func (l *lines) talks(d *direct, begun *mcp.InitializeParams) bool {
	if d.tool == "" {
		return false
	}
	asked := d.elicits
	if d.version == "" {
		asked = elicits(begun.Capabilities)
	}
	return l.stream.messages.Load() || asked && l.server.asked(d, l.server.o.Principal(), asked)
}

// perform makes a call or a listing and writes its answer.
func (l *lines) perform(ctx context.Context, d *direct) {
	text := l.server.answers.take()
	defer l.server.answers.give(text)
	caller := l.server.as(l.server.o.Principal(), d, l.stream.session)
	*text = append(l.server.direct(ctx, l.stream.calls, caller, d, *text), '\n')
	l.forget(d.key)
	defer l.leave()
	if l.write(*text) != nil {
		// The client reads no more, and asks in vain: the stream ends, as it
		// does when the library cannot write.
		_ = l.Close()
	}
}

// cancel cancels a direct request and reports whether there was one.
func (l *lines) cancel(key any) bool {
	l.mu.Lock()
	cancel := l.ids[key]
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return cancel != nil
}
