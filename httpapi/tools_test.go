package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/sallyport/sallyport"
)

// tools is one tool for each thing that the API has to carry.
func (k *kit) tools() []sallyport.Tool {
	anything := json.RawMessage(`{"type":"object"}`)
	fails := func(res sallyport.Result) func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return func(context.Context, *sallyport.Call) (sallyport.Result, error) { return res, nil }
	}
	return []sallyport.Tool{
		{
			Name: "echo", Title: "Echo", Description: "Returns its arguments as they arrived.", Toolset: "text", Schema: anything,
			Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
				return sallyport.OK(string(c.Args)), nil
			},
		},
		{
			Name: "sum", Description: "Adds.",
			Schema:  json.RawMessage(`{"type":"object","$defs":{"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"}},"required":["a","b"],"additionalProperties":false}`),
			Returns: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}`),
			Run:     sum,
		},
		{Name: "whoami", Description: "Returns its caller.", Schema: anything, Run: whoami},
		{Name: "write", Description: "Needs a permission.", Permissions: []string{"files:write"}, Run: fails(sallyport.OK("written"))},
		{Name: "send", Description: "Needs a permission.", Permissions: []string{"mail:send", "mail:read"}, Run: fails(sallyport.OK("sent"))},
		{Name: "hold", Description: "Runs until it is cancelled.", Schema: anything, Run: k.hold},
		{Name: "stages", Description: "Reports progress of every audience.", Run: stages},
		{Name: "flood", Description: "Reports more than anybody reads.", Run: k.flood},
		{Name: "broken", Description: "Panics.", Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { panic("/var/private") }},
		{Name: "stale", Description: "Refuses.", Run: fails(sallyport.Err("the file changed", sallyport.CodeStaleWrite))},
		{Name: "busy", Description: "Is limited elsewhere.", Run: fails(sallyport.Result{
			Error: "Rate limit exceeded: upstream", Code: sallyport.CodeRateLimited, RetryAfter: 1001 * time.Millisecond,
		})},
		{
			Name: "limited", Description: "Runs once an hour.", Run: fails(sallyport.OK("done")),
			RateLimit: &sallyport.RateLimit{Requests: 1, Window: time.Hour},
		},
		{Name: "asleep", Description: "Cannot work now.", IsAvailable: func() bool { return false }, Run: fails(sallyport.OK(""))},
		{
			Name: "unwired", Description: "Declares what is not wired.", Run: fails(sallyport.OK("")),
			Capabilities: sallyport.Capabilities{Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeToolPrivate, Kind: "kv"}},
		},
		{
			Name: "outside", Description: "Is refused by an accessor.",
			Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"api.example.com"}}},
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
				return sallyport.Result{}, sallyport.HostError("api.stripe.com", "")
			},
		},
		{
			Name: "files", Description: "Returns what its attachments hold.", Schema: anything, Run: files,
			Capabilities: sallyport.Capabilities{Attachments: &sallyport.AttachmentsCapability{Kinds: []sallyport.AttachmentKind{sallyport.KindFile, sallyport.KindImage}}},
		},
	}
}

func sum(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	var in struct{ A, B float64 }
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return sallyport.Result{}, err
	}
	return sallyport.Result{OK: true, Value: "added", Structured: map[string]any{"sum": in.A + in.B}, CostUSD: 0.25}, nil
}

func whoami(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	return sallyport.Result{OK: true, Structured: map[string]any{
		"principal": c.Principal.Name, "session": c.SessionKey, "personality": c.Personality,
		"platform": string(c.Platform), "args": string(c.Args), "call": c.ID,
	}}, nil
}

func (k *kit) hold(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	k.started <- string(c.Args)
	<-ctx.Done()
	k.ended <- context.Cause(ctx)
	return sallyport.Result{}, ctx.Err()
}

func stages(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	half := 50.0
	c.Emit(sallyport.Progress{Message: "for the log"})
	c.Emit(sallyport.Progress{Message: "for the page", Audience: sallyport.AudienceDashboard})
	c.Emit(sallyport.Progress{Message: "begun", Audience: sallyport.AudienceUser})
	c.Emit(sallyport.Progress{Message: "line\nbreak <b>", Percent: &half, Audience: sallyport.AudienceUser})
	return sallyport.OK("finished"), nil
}

// flood reports without a pause, and says when it is done.
func (k *kit) flood(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	for range 20_000 {
		c.Emit(sallyport.Progress{Message: "again", Audience: sallyport.AudienceUser})
	}
	k.ended <- ctx.Err()
	return sallyport.OK("flooded"), nil
}

func files(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	out := map[string]any{}
	for _, a := range c.Attachments.List() {
		f, err := c.Attachments.Open(ctx, a.Ref)
		if err != nil {
			return sallyport.Result{}, err
		}
		text, err := io.ReadAll(f)
		if err = firstError(err, f.Close()); err != nil {
			return sallyport.Result{}, err
		}
		out[a.Name] = string(a.Kind) + ":" + string(text)
	}
	return sallyport.Result{OK: true, Structured: out}, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
