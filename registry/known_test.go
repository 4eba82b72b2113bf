package registry_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/registry"
)

// A member of a set is one by its kind, and only as the tool gets it.
func TestAMemberOfASetIsWhatItLooksLike(t *testing.T) {
	t.Parallel()
	sets, err := known.New(map[string]known.Source{
		"channels": {Kind: effect.Name, List: []string{"general"}},
		"payees":   {Kind: effect.Account, List: []string{"GB29 NWBK 6016 1331 9268 19"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &sallyport.Personality{Name: "role", Arguments: map[string]json.RawMessage{
		"post": json.RawMessage(`{"channel":{"known":"channels"},"account":{"known":"payees"}}`),
	}}
	r, err := registry.New(&sallyport.Backends{Personalities: one{p}}, &registry.Options{Known: sets})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	if err := r.Register(sallyport.Tool{
		Name: "post", Run: echo, Destinations: map[string]sallyport.ValueKind{"channel": effect.Name, "account": effect.Account},
		Schema: json.RawMessage(`{"type":"object","properties":{"channel":{"type":"string"},"account":{"type":"string"}}}`),
	}); err != nil {
		t.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}, Personality: "role", Session: "s"}
	for args, want := range map[string]bool{
		`{"channel":"general"}`:                      true,
		`{"channel":"General"}`:                      true,
		`{"channel":"gen\u200beral"}`:                false,
		`{"channel":"ｇeneral"}`:                      false,
		`{"channel":"random"}`:                       false,
		`{"account":"GB29NWBK60161331926819"}`:       true,
		`{"account":"gb29-nwbk-6016-1331-9268-19"}`:  true,
		`{"account":"GB29NWBK60161331926820"}`:       false,
		`{"account":"GB29NWBK6016\u00ad1331926819"}`: false,
		`{}`: true,
	} {
		if res := r.Call(t.Context(), caller, sallyport.Request{Tool: "post", Args: json.RawMessage(args)}); res.OK != want {
			t.Errorf("post(%s) = %+v, want ok %v", args, res, want)
		}
	}
}
