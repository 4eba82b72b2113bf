package gateway

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
)

// callTool makes one call of a tool through the gate. The registry alone decides
// which names exist, so the call of an unknown name is decided and recorded like
// any other.
func (c *core) callTool(ctx context.Context, r *request, out []byte) ([]byte, error) {
	name, err := r.In.Text("name")
	if err != nil {
		return out, err
	}
	res, asked, err := c.callThroughGate(ctx, r, sallyport.Request{Tool: name, Args: r.In.Value("arguments")})
	switch {
	case err != nil:
		return out, err
	case asked == nil:
		return c.appendToolResult(out, r.rounds, &res)
	case asked.task != nil:
		return c.appendTask(out, asked.task.newHandle())
	default:
		return c.appendQuestion(out, `"content":null`, asked, &res)
	}
}

// callThroughGate makes one call of any form through the gate. When a person has to be
// asked first and the protocol asks in another round, it returns the question
// instead of a result.
func (c *core) callThroughGate(ctx context.Context, r *request, q sallyport.Request) (sallyport.Result, *clientQuestion, error) {
	tool := ""
	if r.Method == methodCallTool {
		tool = q.Tool
	}
	caller, err := c.callerOf(r, tool)
	if err != nil {
		return sallyport.Result{}, nil, err
	}
	if c.o.Traced {
		ctx = traceRequest(ctx, r)
	}
	ctx, done, _ := r.calls.Begin(ctx, "")
	defer done()
	files, err := c.takeFiles(ctx, r, caller, &q)
	defer files.releaseFiles()
	if err != nil {
		return c.gate.Reject(ctx, caller, q, err.Error()), nil, nil
	}
	relay := newRelay(r)
	if relay != nil {
		r.streams = true
		caller.Progress = relay.sendProgress
		defer relay.closeRelay()
	}
	in, err := readRound(r)
	if err != nil {
		return sallyport.Result{}, nil, err
	}
	if !c.mayNeedClient(r, caller, q.Tool) {
		return c.gate.Call(ctx, caller, q), nil, nil
	}
	a := &askableClient{core: c, request: r, rounds: r.rounds, able: r.able, caller: caller, q: q, files: files}
	try, id, err := a.chooseAttempt(ctx, in, relay)
	if err != nil {
		return sallyport.Result{}, nil, err
	}
	if h := a.newHeld(try, id != ""); h != nil && !isParked(id) {
		return h.makeCall(ctx, in, id)
	}
	return try(ctx)
}

// mayNeedClient reports whether a call may be answered with something other than its
// result, or only after its client was asked.
func (c *core) mayNeedClient(r *request, caller *sallyport.Caller, tool string) bool {
	if c.mayAskCaller(tool) {
		r.streams = true
		return true
	}
	if r.rounds && tool != "" {
		tasks := c.gate.Tasks(tool)
		if tasks == sallyport.TaskRequired || tasks == sallyport.TaskOptional && r.able.Tasks {
			r.streams = true
			return true
		}
	}
	return r.able.Elicits && c.mayAskPerson(caller, tool)
}

func (c *core) mayAskCaller(tool string) bool { return tool != "" && c.gate.Inquires(tool) }

// chooseAttempt returns how this call is made, and the id that the request's state
// names. Only a tool that may ask gets access to its caller.
func (c *askableClient) chooseAttempt(ctx context.Context, in roundInput, relay *progressRelay) (try callAttempt, id string, err error) {
	inquires := c.mayAskCaller(c.q.Tool)
	detaches, err := c.mayDetach()
	if err != nil {
		return nil, "", err
	}
	if c.rounds && in.state != "" && (inquires || c.able.Elicits && c.mayAskPerson(c.caller, c.q.Tool)) {
		if id, err = c.seal.openState(c.boundWords(), in.state, time.Now()); err != nil {
			return nil, "", wire.Invalid("requestState: " + err.Error() + "; make the call again without it")
		}
	}
	try = func(ctx context.Context) (sallyport.Result, *clientQuestion, error) {
		return c.gate.Call(ctx, c.caller, c.q), nil, nil
	}
	switch {
	case !inquires && !detaches:
	case !c.rounds:
		c.caller.Input = &sessionElicitor{c, ctx}
	case isParked(id):
		try = func(ctx context.Context) (sallyport.Result, *clientQuestion, error) {
			return c.resumeCall(ctx, id, in, relay)
		}
	default:
		try = func(ctx context.Context) (sallyport.Result, *clientQuestion, error) {
			return c.beginCall(ctx, relay, detaches)
		}
	}
	return try, id, nil
}
