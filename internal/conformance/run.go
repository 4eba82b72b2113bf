package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/sallyport/sallyport"
)

// run is what a fixture does.
type run = func(context.Context, *sallyport.Call) (sallyport.Result, error)

func value(text string) run {
	return func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(text), nil }
}

func parts(all ...sallyport.Part) run {
	return func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return sallyport.Result{OK: true, Parts: all}, nil
	}
}

// given makes parts of arguments that are texts.
func given(make func(map[string]string) []sallyport.Part) run {
	return func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		var args map[string]string
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return sallyport.Result{}, err
		}
		return sallyport.Result{OK: true, Parts: make(args)}, nil
	}
}

// steps tells the user something a few times, with progress from 0 to 100.
func steps(messages ...string) run {
	return func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		for i, m := range messages {
			percent := 100 * float64(i) / float64(max(len(messages)-1, 1))
			c.Emit(sallyport.Progress{Message: m, Percent: &percent, Audience: sallyport.AudienceUser})
			select {
			case <-time.After(stepPause):
			case <-ctx.Done():
				return sallyport.Result{}, ctx.Err()
			}
		}
		return sallyport.OK("done"), nil
	}
}

func echo(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	return sallyport.OK(string(c.Args)), nil
}

func said(text string) sallyport.Part {
	return sallyport.Part{Kind: sallyport.PartText, Role: sallyport.RoleUser, Text: text}
}

func image(role sallyport.Role) sallyport.Part {
	return sallyport.Part{Kind: sallyport.PartImage, Role: role, Data: decoded(picture), MediaType: "image/png"}
}

func resource(role sallyport.Role, uri, text string) sallyport.Part {
	return sallyport.Part{Kind: sallyport.PartResource, Role: role, URI: uri, Text: text, MediaType: "text/plain"}
}

func decoded(text string) []byte {
	// The constants are base64.
	data, _ := base64.StdEncoding.DecodeString(text)
	return data
}
