package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin/wire"
)

// served are the tools of this plugin.
var served []*sallyport.Tool

// Serve makes these the tools of the plugin. Call it once, in an init function or in
// the initialization of a variable: main is never called. Tools of other forms than
// [sallyport.FormTool] are refused when the host loads the plugin. Cache, Tasks, Touches,
// ListedAs, AlwaysInclude, IsAvailable and WhyNot have no effect in a plugin. The host
// runs one call at a time.
func Serve(tools ...sallyport.Tool) {
	for _, t := range tools {
		served = append(served, &t)
	}
}

// definition is a tool as the host reads it: an action without a handler.
type definition struct {
	ID             string                         `json:"id"`
	Name           string                         `json:"name,omitempty"`
	Description    string                         `json:"description"`
	Parameters     json.RawMessage                `json:"parameters,omitempty"`
	Returns        json.RawMessage                `json:"returns,omitempty"`
	Permissions    []string                       `json:"permissions,omitempty"`
	RateLimit      map[string]any                 `json:"rateLimit,omitempty"`
	Capabilities   *sallyport.Capabilities        `json:"capabilities,omitempty"`
	ReadOnly       bool                           `json:"readOnly,omitempty"`
	Idempotent     bool                           `json:"idempotent,omitempty"`
	Timeout        string                         `json:"timeout,omitempty"`
	MaxResultChars int                            `json:"maxResultChars,omitempty"`
	Does           []sallyport.Effect             `json:"does,omitempty"`
	Destinations   map[string]sallyport.ValueKind `json:"destinations,omitempty"`
}

// listDefinitions returns the answer to what tools there are.
func listDefinitions() ([]byte, error) {
	list := []definition{}
	for _, t := range served {
		if t.Form != sallyport.FormTool {
			return nil, fmt.Errorf("%s: a plugin has tools only, no prompts and resources", t.ID())
		}
		d := definition{
			ID: t.Name, Name: t.Title, Description: t.Description, Parameters: t.Schema, Returns: t.Returns,
			Permissions: t.Permissions, ReadOnly: t.ReadOnly, Idempotent: t.Idempotent, MaxResultChars: t.MaxResultChars,
			Does: t.Does, Destinations: t.Destinations,
		}
		if !t.Capabilities.Empty() {
			d.Capabilities = &t.Capabilities
		}
		if t.Timeout > 0 {
			d.Timeout = t.Timeout.String()
		}
		if l := t.RateLimit; l != nil {
			d.RateLimit = map[string]any{"requests": l.Requests, "window": l.Window.String()}
		}
		list = append(list, d)
	}
	return json.Marshal(list)
}

// callHost runs the tool that a message asks for and appends the answer to a buffer.
func callHost(h host, message, to []byte) ([]byte, error) {
	head, args := wire.Split(message)
	w, err := decodeCall(head)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(served, func(t *sallyport.Tool) bool { return t.Name == w.Tool })
	if at < 0 {
		return nil, errors.New("there is no tool " + w.Tool)
	}
	ctx := context.Background()
	if w.Seconds > 0 {
		c := &callContext{deadline: time.Now().Add(time.Duration(w.Seconds * float64(time.Second)))}
		defer c.endCall()
		ctx = c
	}
	res, err := served[at].Run(ctx, newCall(h, &w, bytes.Clone(args)))
	if err != nil {
		res = sallyport.ErrorResult(err)
	}
	// What only the gate says of a result is not sent.
	res.CallID, res.ApprovalID, res.RetryAfter, res.ExpiresAt = "", "", 0, time.Time{}
	return appendResult(to, &res)
}

// newCall returns what the tool receives.
func newCall(h host, w *wire.Call, args json.RawMessage) *sallyport.Call {
	c := &sallyport.Call{
		ID: w.ID, Tool: w.Tool, Args: args, Checked: true, Session: w.Session, Personality: w.Personality,
		Platform: sallyport.Platform(w.Platform), Workspace: w.Workspace, Turn: w.Turn, ResultBudget: w.ResultBudget, Tainted: w.Tainted,
		Emit: func(p sallyport.Progress) {
			_, _, _ = h.askHost(wire.FuncProgress, wire.Progress{Message: p.Message, Percent: p.Percent, Audience: string(p.Audience)}, nil)
		},
		Detach: func() {},
	}
	bindAccessors(h, c)
	refuseOthers(c)
	return c
}
