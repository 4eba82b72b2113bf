package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/sallyport/sallyport"
)

type fixtureFunc = func(context.Context, *sallyport.Call) (sallyport.Result, error)

func returnText(text string) fixtureFunc {
	return func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(text), nil }
}

func returnParts(all ...sallyport.Part) fixtureFunc {
	return func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		return sallyport.Result{OK: true, Parts: all}, nil
	}
}

// returnPartsOf returns a fixture that makes parts of arguments, which are
// texts.
func returnPartsOf(make func(map[string]string) []sallyport.Part) fixtureFunc {
	return func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		var args map[string]string
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return sallyport.Result{}, err
		}
		return sallyport.Result{OK: true, Parts: make(args)}, nil
	}
}

// reportSteps returns a fixture that tells the user something a few times, with
// progress from 0 to 100.
func reportSteps(messages ...string) fixtureFunc {
	return func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		for i, m := range messages {
			percent := 100 * float64(i) / float64(max(len(messages)-1, 1))
			c.Emit(sallyport.Progress{Message: m, Percent: &percent, Audience: sallyport.AudienceUser})
			if err := waitFor(ctx, stepPause); err != nil {
				return sallyport.Result{}, err
			}
		}
		return sallyport.OK("done"), nil
	}
}

func echoArguments(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	return sallyport.OK(string(c.Args)), nil
}

func newTextPart(text string) sallyport.Part {
	return sallyport.Part{Kind: sallyport.PartText, Role: sallyport.RoleUser, Text: text}
}

func newImagePart(role sallyport.Role) sallyport.Part {
	return sallyport.Part{Kind: sallyport.PartImage, Role: role, Data: decodeBase64(picture), MediaType: "image/png"}
}

func newResourcePart(role sallyport.Role, uri, text string) sallyport.Part {
	return sallyport.Part{Kind: sallyport.PartResource, Role: role, URI: uri, Text: text, MediaType: "text/plain"}
}

func decodeBase64(text string) []byte {
	// The constants are base64.
	data, _ := base64.StdEncoding.DecodeString(text)
	return data
}
