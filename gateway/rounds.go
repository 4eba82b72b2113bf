package gateway

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// parkedPrefix tells the id of a call that waits from that of an approval.
const parkedPrefix = "call:"

func isParked(id string) bool { return strings.HasPrefix(id, parkedPrefix) }

// parking is the calls that asked and wait for the next round, each under the
// id of that round, which is good once.
type parking struct {
	mu      sync.Mutex
	waiting map[string]*parked
}

func (r *parking) put(p *parked) (id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting == nil {
		r.waiting = map[string]*parked{}
	}
	p.id = parkedPrefix + rand.Text()
	r.waiting[p.id] = p
	return p.id
}

// keep puts a call back under the id that it had.
func (r *parking) keep(p *parked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting[p.id] = p
}

func (r *parking) take(id string) *parked {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.waiting[id]
	delete(r.waiting, id)
	return p
}

func (r *parking) drop(p *parked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, p.id)
}

// parked is a call that goes on while no request is there: it was decided once,
// runs once, and waits for its answers between two rounds. It is the [Input] of
// its tool.
type parked struct {
	*client
	id      string // of the round; guarded by the set
	asking  chan struct{}
	asked   chan []sallyport.Question
	answers chan []sallyport.Answer
	done    chan sallyport.Result
	cancel  func()
	pending []sallyport.Question // what the client was asked last

	mu      sync.Mutex
	missing sallyport.InputKind // what the client lacks
	relay   *relay              // of the request that is there
	request context.Context
}

// begin makes a call whose tool may ask.
func (c *client) begin(ctx context.Context, relay *relay) (sallyport.Result, *question, error) {
	p := &parked{
		client: c, asking: make(chan struct{}, 1), asked: make(chan []sallyport.Question),
		answers: make(chan []sallyport.Answer), done: make(chan sallyport.Result, 1),
	}
	p.attend(ctx, relay)
	own, end, _ := c.calls(ctx).Begin(context.WithoutCancel(ctx), "")
	own, p.cancel = context.WithCancel(own)
	caller := *c.caller
	caller.Input, caller.Progress = p, p.progress
	go func() {
		defer end()
		defer p.cancel()
		res := c.gate.Call(own, &caller, c.q)
		c.Server.parked.drop(p)
		p.done <- res
	}()
	return p.next(ctx)
}

// attend has the call's progress go to the request that is there.
func (p *parked) attend(ctx context.Context, relay *relay) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.request, p.relay = ctx, relay
}

func (p *parked) progress(e sallyport.Progress) {
	p.mu.Lock()
	ctx, relay := p.request, p.relay
	p.mu.Unlock()
	if relay != nil {
		relay.send(ctx, e)
	}
}

// next waits until the call asks or ends. A request that is cancelled takes its
// call along.
func (p *parked) next(ctx context.Context) (sallyport.Result, *question, error) {
	select {
	case questions := <-p.asked:
		p.pending = questions
		return p.park()
	case res := <-p.done:
		return p.over(res)
	case <-ctx.Done():
		p.cancel()
		return p.over(<-p.done)
	}
}

// over is the end of a call. One that failed for want of what its client lacks
// is answered in the protocol's own words.
func (p *parked) over(res sallyport.Result) (sallyport.Result, *question, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.missing != "" && !res.OK {
		return sallyport.Result{}, nil, required(p.missing)
	}
	return res, nil, nil
}

// park leaves the call waiting and asks the client.
func (p *parked) park() (sallyport.Result, *question, error) {
	id := p.Server.parked.put(p)
	state, err := p.seal.close(p.bound(), id, time.Now().Add(askWait))
	if err != nil {
		p.cancel()
		return sallyport.Result{}, nil, err
	}
	requests := mcp.InputRequestMap{}
	for i := range p.pending {
		requests[p.pending[i].Name] = p.requestOf(&p.pending[i])
	}
	return sallyport.Result{}, &question{requests, state}, nil
}

// resume brings answers to a call that waits for them. Whatever is missing is
// asked again; what does not fit is refused and may be mended.
func (c *client) resume(ctx context.Context, id string, in input, relay *relay) (sallyport.Result, *question, error) {
	p := c.Server.parked.take(id)
	if p == nil {
		return sallyport.Result{}, nil, refused("this question is over; make the call again without requestState")
	}
	if !unchanged(&p.caller.Principal, &c.caller.Principal) {
		p.cancel()
		return sallyport.Result{}, nil, refused("what the caller may do has changed since it was asked; make the call again without requestState")
	}
	answers := make([]sallyport.Answer, len(p.pending))
	for i := range p.pending {
		response, ok := in.responses[p.pending[i].Name]
		if !ok {
			return p.park()
		}
		var err error
		if answers[i], err = answerOf(&p.pending[i], response); err != nil {
			c.Server.parked.keep(p)
			return sallyport.Result{}, nil, refused("inputResponses." + p.pending[i].Name + ": " + err.Error())
		}
	}
	p.attend(ctx, relay)
	select {
	case p.answers <- answers:
		return p.next(ctx)
	case res := <-p.done:
		return p.over(res)
	case <-ctx.Done():
		p.cancel()
		return p.over(<-p.done)
	}
}

// Can reports whether the client can be asked.
func (p *parked) Can(kind sallyport.InputKind) bool { return p.can(kind) }

// Ask hands questions to the request that is there, and waits for the one that
// brings the answers.
func (p *parked) Ask(ctx context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	if kind := p.unable(questions); kind != "" {
		p.mu.Lock()
		p.missing = kind
		p.mu.Unlock()
		return nil, errUnable(kind)
	}
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	ctx, done, ok := p.questions.Begin(ctx, p.caller.Principal.Name)
	defer done()
	if !ok {
		return nil, unanswered("too many questions wait for an answer")
	}
	select {
	case p.asking <- struct{}{}: // one round at a time
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return nil, unanswered("nobody answered in time")
	}
	select {
	case p.asked <- questions:
	case <-ctx.Done():
		return nil, unanswered("nobody answered in time")
	}
	select {
	case answers := <-p.answers:
		return answers, nil
	case <-ctx.Done():
		p.Server.parked.drop(p)
		return nil, unanswered("nobody answered in time")
	}
}
