package gateway

import (
	"context"

	"github.com/sallyport/sallyport"
)

// answerDirectly answers a call or a listing without the library, or cancels one. It
// does so only after the library knows which protocol the stream speaks. It
// returns false for a message that the library has to answer, such as one of
// the other protocol generation.
func (l *stdioTransport) answerDirectly(e *messageEnvelope) bool {
	session := l.library.Load()
	if session == nil || l.isClosed() {
		return false
	}
	if e.method == "notifications/cancelled" {
		return l.cancelRequest(anyID(valueOf(e.in, "requestId")))
	}
	d, ok := e.asDirect()
	begun := session.InitializeParams()
	if !ok || begun == nil || (d.version == "") != (begun.ProtocolVersion < statelessSince) ||
		d.tool != "" && l.stream.messages.Load() || l.server.mayOutliveRequest(&d) {
		return false
	}
	if d.version == "" {
		d.elicits = canElicit(begun.Capabilities)
	}
	ctx, cancel := context.WithCancel(l.ctx)
	if !l.beginRequest(d.key, cancel) {
		cancel()
		return true
	}
	var whole *messageEnvelope
	if d.elicits {
		own := *e // a copy, so that e itself stays on the stack
		whole = &own
	}
	go func() {
		defer cancel()
		l.performRequest(ctx, whole, &d)
	}()
	return true
}

// performRequest makes a call or a listing and writes its answer.
func (l *stdioTransport) performRequest(ctx context.Context, e *messageEnvelope, d *directRequest) {
	text := l.server.answers.getBuffer()
	defer l.server.answers.putBuffer(text)
	caller := l.server.callerFor(l.server.o.Principal(), d, l.stream.session)
	answer, held := l.server.answerDirectly(ctx, l.stream.calls, caller, d, *text)
	if held != nil {
		l.askThroughLibrary(e, d, held)
		return
	}
	*text = append(answer, '\n')
	l.endRequest(d.key)
	defer l.markWritten()
	if l.writeLine(*text) != nil {
		// The client no longer reads. The stream ends, as it does when the
		// library cannot write.
		_ = l.Close()
	}
}

// askThroughLibrary hands a held call with its result to the library. From then on its id is
// the library's.
func (l *stdioTransport) askThroughLibrary(e *messageEnvelope, d *directRequest, held *sallyport.Result) {
	l.mu.Lock()
	l.ids[d.key] = nil
	l.mu.Unlock()
	msg, err := e.libraryRequest()
	if err != nil {
		return // an id of a direct request always decodes
	}
	msg.Params = e.parametersWith(l.stream.early.storeResult(*held))
	l.passToLibrary(msg)
}

// cancelRequest cancels a direct request and reports whether there was one.
func (l *stdioTransport) cancelRequest(key any) bool {
	l.mu.Lock()
	cancel := l.ids[key]
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return cancel != nil
}
