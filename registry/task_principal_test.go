package registry_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// What narrows a principal holds in every session of it, old and new, whatever the client
// asks for.
func TestANewSessionDoesNotEscapeThePrincipalsTask(t *testing.T) {
	t.Parallel()
	p := &sallyport.Personality{Name: "role"}
	r, err := registry.New(&sallyport.Backends{Personalities: one{p}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	if err := r.Register(sallyport.Tool{Name: "pay", Schema: schema, Run: echo}, sallyport.Tool{Name: "read", Schema: schema, Run: echo}); err != nil {
		t.Fatal(err)
	}
	narrowed := &sallyport.Task{Words: "pay 9", Tools: []string{"pay"}, Arguments: map[string]json.RawMessage{"pay": json.RawMessage(`{"n":{"maximum":5}}`)}}
	for _, session := range []string{"", "one", "two"} {
		for _, task := range []*sallyport.Task{nil, {Words: "read and pay 9", Tools: []string{"*"}, Arguments: map[string]json.RawMessage{"pay": json.RawMessage(`{"n":{"maximum":9}}`)}}} {
			c := &sallyport.Caller{Principal: sallyport.Principal{Name: "p", Task: narrowed}, Session: session, Personality: "role", Task: task}
			for args, want := range map[string]sallyport.Code{`{"n":5}`: "", `{"n":6}`: sallyport.CodePermissionDenied} {
				if res := r.Call(t.Context(), c, sallyport.Request{Tool: "pay", Args: json.RawMessage(args)}); res.Code != want {
					t.Errorf("pay(%s) in %q = %+v, want code %q", args, session, res, want)
				}
			}
			if res := r.Call(t.Context(), c, sallyport.Request{Tool: "read"}); res.Code != sallyport.CodeNotAvailable {
				t.Errorf("read in %q = %+v, want it refused", session, res)
			}
			if list := r.List(c); len(list) != 1 || list[0].Name != "pay" {
				t.Errorf("List() = %+v, want pay alone", list)
			}
		}
	}
}
