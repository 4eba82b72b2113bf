package registry_test

import (
	"context"
	"testing"

	"github.com/sallyport/sallyport"
)

// Whatever form a result has in which a model gets it, what it names is remembered.
func TestEveryFormOfAResultIsRemembered(t *testing.T) {
	t.Parallel()
	part := func(p sallyport.Part) sallyport.Result { return sallyport.Result{OK: true, Parts: []sallyport.Part{p}} }
	for name, c := range map[string]struct {
		result sallyport.Result
		said   string
	}{
		"a number":        {result: sallyport.Result{OK: true, Value: "see", Structured: map[string]any{"account": 900100200300}}},
		"a text as data":  {result: part(sallyport.Part{Kind: sallyport.PartResource, URI: "file:///a", MediaType: "application/yaml", Data: []byte("account: 900100200300")})},
		"a picture":       {result: part(sallyport.Part{Kind: sallyport.PartImage, MediaType: "image/png", Data: []byte("\x89PNG")})},
		"a media type":    {result: part(sallyport.Part{Kind: sallyport.PartResource, URI: "file:///a", MediaType: "text/plain; a=900100200300", Text: "see"})},
		"progress":        {result: sallyport.OK("see"), said: "pay 900100200300"},
		"a text, for all": {result: sallyport.OK("900100200300")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newCapped(t, mailSchema, `{"body":{"from_untrusted":"refuse"}}`, online)
			look := readTool(nil)
			look.Run = func(_ context.Context, running *sallyport.Call) (sallyport.Result, error) {
				running.Emit(sallyport.Progress{Message: c.said, Audience: sallyport.AudienceUser})
				return c.result, nil
			}
			l.add(look)
			caller := l.caller()
			caller.Progress = func(sallyport.Progress) {}
			if res := l.Call(t.Context(), caller, sallyport.Request{Tool: "look"}); !res.OK {
				t.Fatalf("look = %+v", res)
			}
			l.want(`{"body":"900100200300"}`, sallyport.CodePermissionDenied)
		})
	}
}
