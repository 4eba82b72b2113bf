package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/running"
)

// parkedPrefix distinguishes the id of a waiting call from that of an approval.
const parkedPrefix = "call:"

func isParked(id string) bool { return strings.HasPrefix(id, parkedPrefix) }

// pendingCalls holds the calls that have asked questions and wait for the next
// round. Each call has the id of that round, which is valid once.
type pendingCalls struct {
	mu      sync.Mutex
	waiting map[string]*suspendedCall
}

// addCall makes a call wait under a new id. ok is false when the call is over.
func (r *pendingCalls) addCall(p *suspendedCall) (id string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.over {
		return "", false
	}
	if r.waiting == nil {
		r.waiting = map[string]*suspendedCall{}
	}
	p.id = parkedPrefix + rand.Text()
	r.waiting[p.id] = p
	return p.id, true
}

// restoreCall puts a call back under its old id.
func (r *pendingCalls) restoreCall(p *suspendedCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !p.over {
		r.waiting[p.id] = p
	}
}

func (r *pendingCalls) popCall(id string) *suspendedCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.waiting[id]
	delete(r.waiting, id)
	return p
}

// removeCall removes a call that is over and never takes it back.
func (r *pendingCalls) removeCall(p *suspendedCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.over = true
	delete(r.waiting, p.id)
}

// callAttempt makes a call or continues one. It returns a question when the tool
// asks one in a protocol that needs another round for it.
type callAttempt func(context.Context) (sallyport.Result, *clientQuestion, error)

// inputRound is the set of questions that a tool asks at once.
type inputRound struct {
	questions []sallyport.Question
	answers   chan []sallyport.Answer // buffered: the tool may have given up
	gone      <-chan struct{}         // closed when it has
}

func (r *inputRound) hasToWait() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.gone:
		return false
	default:
		return true
	}
}

// suspendedCall is a call that goes on between the requests of its client. It is
// decided once, runs once, and waits for answers between two rounds. It is the
// [Input] of its tool.
type suspendedCall struct {
	*askableClient
	id      string        // id of the round; guarded by the set
	over    bool          // guarded by the set
	turn    chan struct{} // held by the round that is being asked
	asked   chan *inputRound
	wants   chan struct{} // the tool has detached
	done    chan sallyport.Result
	cancel  func()
	pending *inputRound // what the client was asked last
	made    time.Time
	set     *running.Set // the set that the call belongs to
	session *session     // the stream that it came over; nil over HTTP

	mu      sync.Mutex
	missing sallyport.InputKind // what the client lacks
	task    *callTask           // the task that it became
	said    sallyport.Progress  // last progress for the user before it became a task
	relay   *progressRelay      // relay of the current request
}

// withoutRequest returns the client in the form that a waiting call keeps: with the
// arguments, without the rest of its request.
func (c *askableClient) withoutRequest() *askableClient {
	own := *c
	own.request = nil
	if len(own.q.Args) < smallBytes {
		own.q.Args = bytes.Clone(own.q.Args) // they may be a part of the message
	}
	return &own
}

// beginCall makes a call whose tool may ask or detach.
func (c *askableClient) beginCall(ctx context.Context, relay *progressRelay, detaches bool) (sallyport.Result, *clientQuestion, error) {
	p := &suspendedCall{
		askableClient: c.withoutRequest(), turn: make(chan struct{}, 1), asked: make(chan *inputRound), done: make(chan sallyport.Result, 1),
		wants: make(chan struct{}, 1), made: time.Now(), set: c.request.calls, session: c.request.session,
	}
	p.setRelay(relay)
	own, end, _ := p.set.Begin(context.WithoutCancel(ctx), "")
	own, p.cancel = context.WithCancel(own)
	caller := *c.caller
	caller.Input, caller.Progress = p, p.relayProgress
	if detaches {
		caller.Detach = p.requestDetach
	}
	p.caller = &caller
	p.files.holdFiles()
	go func() {
		defer end()
		defer p.cancel()
		res := p.gate.Call(own, p.caller, p.q)
		p.files.releaseFiles()
		p.core.parked.removeCall(p)
		p.done <- res
	}()
	return p.awaitNext(ctx)
}

// setRelay sends the call's progress to the current request.
func (p *suspendedCall) setRelay(relay *progressRelay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relay = relay
}

func (p *suspendedCall) relayProgress(e sallyport.Progress) {
	p.mu.Lock()
	relay, task := p.relay, p.task
	if e.VisibleTo() == sallyport.AudienceUser {
		p.said = e
	}
	p.mu.Unlock()
	switch {
	case task != nil:
		task.setStatus(e)
	case relay != nil:
		relay.sendProgress(e)
	}
}

// awaitNext waits until the call asks, detaches or ends. A cancelled request cancels
// its call. Questions that a tool asks after it has detached become questions
// of the task.
func (p *suspendedCall) awaitNext(ctx context.Context) (sallyport.Result, *clientQuestion, error) {
	for {
		select {
		case asks := <-p.asked:
			if p.hasDetached() {
				if as := p.becomeTask(asks); as != nil {
					return sallyport.Result{}, as, nil
				}
			}
			p.pending = asks
			return p.suspendCall()
		case <-p.wants:
			if len(p.done) > 0 || ctx.Err() != nil {
				continue // no task is needed
			}
			if as := p.becomeTask(nil); as != nil {
				return sallyport.Result{}, as, nil
			}
		case res := <-p.done:
			return p.finalResult(res)
		case <-ctx.Done():
			p.cancel()
			return p.finalResult(<-p.done)
		}
	}
}

// finalResult returns the end of a call. If the call failed because its client lacks
// a capability, the result is the protocol's error for that.
func (p *suspendedCall) finalResult(res sallyport.Result) (sallyport.Result, *clientQuestion, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missing != "" && !res.OK {
		return sallyport.Result{}, nil, capabilityRequired(p.missing)
	}
	return res, nil, nil
}

// suspendCall leaves the call waiting and asks the client.
func (p *suspendedCall) suspendCall() (sallyport.Result, *clientQuestion, error) {
	p.setRelay(nil)
	id, ok := p.core.parked.addCall(p)
	if !ok {
		return p.finalResult(<-p.done)
	}
	state, err := p.seal.sealState(p.boundWords(), id, time.Now().Add(askWait))
	if err != nil {
		p.cancel()
		return sallyport.Result{}, nil, err
	}
	requests := mcp.InputRequestMap{}
	for i := range p.pending.questions {
		q := &p.pending.questions[i]
		requests[q.Name] = p.requestOf(q)
	}
	return sallyport.Result{}, &clientQuestion{requests: requests, state: state}, nil
}

// resumeCall hands answers to a call that waits for them. If an answer is missing,
// it asks again. It refuses an answer that does not fit, and the client may
// correct it.
func (c *askableClient) resumeCall(ctx context.Context, id string, in roundInput, relay *progressRelay) (sallyport.Result, *clientQuestion, error) {
	p := c.core.parked.popCall(id)
	if p == nil {
		return sallyport.Result{}, nil, wire.Invalid("this question is over; make the call again without requestState")
	}
	if !samePrincipal(&p.caller.Principal, &c.caller.Principal) {
		p.cancel()
		return sallyport.Result{}, nil, wire.Invalid("what the caller may do has changed since it was asked; make the call again without requestState")
	}
	questions := p.pending.questions
	answers := make([]sallyport.Answer, len(questions))
	for i := range questions {
		response := in.responses.Value(questions[i].Name)
		if response == nil {
			return p.suspendCall()
		}
		var err error
		if answers[i], err = readAnswer(&questions[i], response); err != nil {
			c.core.parked.restoreCall(p)
			return sallyport.Result{}, nil, wire.Invalid("inputResponses." + questions[i].Name + ": " + err.Error())
		}
	}
	p.setRelay(relay)
	p.pending.answers <- answers
	return p.awaitNext(ctx)
}

// Can reports whether the client can be asked.
func (p *suspendedCall) Can(kind sallyport.InputKind) bool { return p.canAnswer(kind) }

// Ask hands questions to the current request and waits for the request that
// brings the answers.
func (p *suspendedCall) Ask(ctx context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	if kind := p.firstUnanswerable(questions); kind != "" {
		p.mu.Lock()
		p.missing = kind
		p.mu.Unlock()
		return nil, errUnable(kind)
	}
	if len(p.q.Args) >= smallBytes {
		// The space for a long message is released with its request.
		return nil, unansweredError("the call has arguments that are too long to be kept while it waits")
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	ctx, done, ok := p.questions.Begin(ctx, p.caller.Principal.Name)
	defer done()
	if !ok {
		return nil, unansweredError("too many questions wait for an answer")
	}
	a := &inputRound{questions, make(chan []sallyport.Answer, 1), ctx.Done()}
	if ctx.Err() != nil {
		return nil, errSilent
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, errSilent
	}
	select {
	case p.asked <- a:
	case <-ctx.Done():
		return nil, errSilent
	}
	select {
	case answers := <-a.answers:
		return answers, nil
	case <-ctx.Done():
		return nil, errSilent
	}
}

// errSilent is the tool's error for a question without an answer in time.
var errSilent = unansweredError("no answer came in time")
