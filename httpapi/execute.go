package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/budget"
	"github.com/sallyport/sallyport/internal/turn"
)

// maxID bounds the id of an action in a request. Names of tools are shorter,
// so that what is cut is unknown either way.
const maxID = 128

// actionCall is one request to execute an action.
type actionCall struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request // its context is the call's
	caller sallyport.Caller
	q      sallyport.Request
}

// executeJSON makes a call whose body is JSON.
func (s *Server) executeJSON(w http.ResponseWriter, r *http.Request) {
	c, done := s.beginCall(w, r)
	if c == nil {
		return
	}
	defer done()
	text, held, err := s.readBody(w, c.r, c.caller.Principal.Name)
	defer held.Release()
	if err != nil {
		c.rejectUnread(err)
		return
	}
	in, err := decodeRequest(text)
	if err != nil {
		c.rejectCall(http.StatusBadRequest, err.Error())
		return
	}
	c.makeCall(&in)
}

// beginCall starts a request, or answers that too many run. Call done when it is
// answered.
func (s *Server) beginCall(w http.ResponseWriter, r *http.Request) (c *actionCall, done func()) {
	caller := s.callerOf(r, "")
	ctx, done, ok := s.running.Begin(r.Context(), caller.Principal.Name)
	if !ok {
		writeBusy(w, fmt.Sprintf("Too many requests at once: %d of a principal, %d of all; try again", maxEach, maxRequests))
		return nil, done
	}
	id := r.PathValue("id")
	if len(id) > maxID {
		id = strings.ToValidUTF8(id[:maxID], "")
	}
	return &actionCall{s: s, w: w, r: r.WithContext(ctx), caller: caller, q: sallyport.Request{Tool: id}}, done
}

// writeBusy answers a request beyond a bound.
func writeBusy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	writeRefusal(w, http.StatusServiceUnavailable, sallyport.CodeNotAvailable, why)
}

// callerOf returns who asks, in the role that is asked for.
func (s *Server) callerOf(r *http.Request, personality string) sallyport.Caller {
	p, _ := auth.PrincipalFrom(r.Context())
	return sallyport.Caller{
		Principal: p, Personality: p.Role(personality, s.o.Personality), Platform: sallyport.PlatformHTTP,
	}
}

// makeCall passes the call to the gate and answers. Whether the principal may
// take the role is the gate's to say.
func (c *actionCall) makeCall(in *executeRequest) {
	c.q.Args = in.params
	header, err := turn.FromHeader(c.r.Header.Values(turn.Header))
	if err == nil {
		err = in.said.Join(header)
	}
	if err != nil {
		c.rejectCall(http.StatusBadRequest, err.Error())
		return
	}
	found, release, err := c.s.findUploads(&c.caller.Principal, in.attachments)
	defer release()
	if err != nil {
		c.rejectCall(http.StatusBadRequest, err.Error())
		return
	}
	c.caller.Attachments = append(c.caller.Attachments, found...)
	in.said.Fill(&c.caller)
	c.caller.Session, c.caller.DryRun, c.caller.Task = in.session, in.dryRun, in.task
	c.caller.Personality = c.caller.Principal.Role(in.personality, c.s.o.Personality)
	if wantsStream(c.r) {
		c.streamResult()
		return
	}
	c.writeResult(c.s.gate.Call(c.r.Context(), &c.caller, c.q))
}

// rejectCall records a request that is broken and answers it with a status.
func (c *actionCall) rejectCall(status int, why string) {
	res := c.s.gate.Reject(c.r.Context(), &c.caller, c.q, why)
	writeJSON(c.w, status, resultBody(&res, 0))
}

// rejectUnread answers a body that did not arrive whole.
func (c *actionCall) rejectUnread(err error) {
	switch {
	case errors.Is(err, errTooLong):
		c.rejectCall(http.StatusRequestEntityTooLarge, err.Error())
	case errors.Is(err, budget.ErrFull):
		writeBusy(c.w, fmt.Sprintf("Too many long bodies at once: %d MiB in all, half of what is left for each principal; try again", longBytes>>20))
	case errors.Is(err, auth.ErrWithdrawn):
		c.rejectCall(http.StatusUnauthorized, "the token does not count any more")
	case c.r.Context().Err() != nil:
		c.rejectCall(http.StatusServiceUnavailable, "the request was cancelled before its body was read")
	default:
		c.rejectCall(http.StatusBadRequest, "the body did not arrive whole")
	}
}

func (c *actionCall) writeResult(res sallyport.Result) {
	status := c.resultStatus(&res)
	if status == http.StatusTooManyRequests {
		c.w.Header().Set("Retry-After", retryAfter(res.RetryAfter))
	}
	writeJSON(c.w, status, resultBody(&res, 0))
}

// resultStatus returns the status of a result. A tool that is not there for the
// caller is 404; one that is and still cannot be called is 503.
func (c *actionCall) resultStatus(res *sallyport.Result) int {
	if res.OK {
		return http.StatusOK
	}
	if res.Code == sallyport.CodeNotAvailable && c.isAvailable() {
		return http.StatusServiceUnavailable
	}
	return statusOf(res.Code)
}

// isAvailable asks the gate whether the caller sees the tool and it can work. Of a
// resource the URI may be what is not there, which the gate is not asked about.
func (c *actionCall) isAvailable() bool {
	if form, _ := sallyport.ParseID(c.q.Tool); form == sallyport.FormResource {
		return false
	}
	x, err := c.s.gate.Explain(&c.caller, c.q.Tool)
	if err != nil {
		c.s.o.Logger.Error("a refusal cannot be explained", "tool", c.q.Tool, "error", err)
	}
	for _, d := range x.Decisions {
		switch d.Step {
		case sallyport.StepFind, sallyport.StepVisible, sallyport.StepReady:
			if !d.Allowed {
				return false
			}
		}
	}
	return true
}

// wantsStream reports whether the client asks for a stream of events.
func wantsStream(r *http.Request) bool {
	for _, header := range r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(header, ",") {
			kind, params, _ := strings.Cut(kind, ";")
			if strings.EqualFold(strings.TrimSpace(kind), eventStream) {
				return strings.ReplaceAll(params, " ", "") != "q=0"
			}
		}
	}
	return false
}
