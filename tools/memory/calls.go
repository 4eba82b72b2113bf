package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/internal/text"
)

// What session_search looks at.
const sessionThis, sessionAll = "this", "all"

// shownChars bounds what is shown of the arguments of a call, and of what it said.
const shownChars = 600

type callsInput struct {
	Query      string `json:"query" jsonschema:"Words to look for: whole ones, in any case."`
	Session    string `json:"session,omitempty" jsonschema:"this session alone, or all of your own in this role."`
	Since      string `json:"since,omitempty" jsonschema:"Earliest day, such as 2026-01-31."`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"Most calls to return."`
}

// searchSessions runs a call of session_search.
func searchSessions(ctx context.Context, c *sallyport.Call, in callsInput) (sallyport.Result, error) {
	m, err := memoryOf(c)
	if err != nil {
		return sallyport.Result{}, err
	}
	q := recall.CallQuery{Words: in.Query, Most: in.MaxResults}
	if q.Most == 0 {
		q.Most = defaultCalls
	}
	if in.Session == sessionThis {
		q.Session = c.Session
	}
	if in.Since != "" {
		if q.Since, err = time.Parse(time.DateOnly, in.Since); err != nil {
			return sallyport.Result{}, sallyport.InputInvalid("since is a day such as 2026-01-31")
		}
	}
	calls, err := m.Calls(ctx, q)
	if err != nil {
		return sallyport.Result{}, err
	}
	return newCallsResult(&calls), nil
}

// newCallsResult shows calls. What the record holds of them was partly written by others:
// a result with calls is untrusted.
func newCallsResult(calls *recall.Calls) sallyport.Result {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.", text.CountOf(len(calls.List), "call"))
	if !calls.Back.IsZero() {
		fmt.Fprintf(&b, " Calls before %s were not looked at.", calls.Back.UTC().Format(time.RFC3339))
	}
	list := []map[string]any{}
	for _, p := range calls.List {
		outcome := "ok"
		if !p.OK {
			outcome = "failed"
		}
		arguments, said := text.Clip(text.OneLine(p.Args), shownChars), text.Clip(text.OneLine(p.Said), shownChars)
		fmt.Fprintf(&b, "\n\n%s %s, %s (session %s, call %s)\n  %s", p.Time.UTC().Format(time.RFC3339), p.Tool, outcome, p.Session, p.ID, arguments)
		if said != "" {
			fmt.Fprintf(&b, "\n  %s", said)
		}
		list = append(list, map[string]any{
			"call_id": p.ID, "session": p.Session, "tool": p.Tool, "ok": p.OK, "time": p.Time.UTC().Format(time.RFC3339), "args": arguments, "said": said,
		})
	}
	r := sallyport.OK(b.String())
	r.Untrusted = len(list) > 0
	r.Structured = map[string]any{"calls": list}
	return r
}
