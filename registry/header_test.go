package registry

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// roleWith is a lookup of one role.
type roleWith struct{ role *sallyport.Personality }

func (r roleWith) Personality(name string) (*sallyport.Personality, bool) {
	return r.role, name == r.role.Name
}

func TestHeadersAreForWhoSeesTheTool(t *testing.T) {
	t.Parallel()
	run := func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(""), nil }
	marked := json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)
	r, err := New(&sallyport.Backends{Personalities: roleWith{&sallyport.Personality{Name: "role", Toolset: []string{"seen", "bare"}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Register(
		sallyport.Tool{Name: "seen", Schema: marked, Run: run},
		sallyport.Tool{Name: "hidden", Schema: marked, Run: run},
		sallyport.Tool{Name: "bare", Run: run},
		sallyport.Tool{Name: "seen", Form: sallyport.FormPrompt, Schema: marked, Run: run},
	); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, tool string
		caller     sallyport.Caller
		want       bool
	}{
		{"seen", "seen", sallyport.Caller{Personality: "role"}, true},
		{"left out by the role", "hidden", sallyport.Caller{Personality: "role"}, false},
		{"left out by the surface", "seen", sallyport.Caller{Personality: "role", Exclude: []string{"seen"}}, false},
		{"another role", "seen", sallyport.Caller{Personality: "other"}, false},
		{"a role that is not the principal's", "seen", sallyport.Caller{Personality: "role", Principal: sallyport.Principal{Personalities: []string{"other"}}}, false},
		{"no header", "bare", sallyport.Caller{Personality: "role"}, false},
		{"no tool", "nobody", sallyport.Caller{Personality: "role"}, false},
		{"a prompt", "prompt:seen", sallyport.Caller{Personality: "role"}, false},
	} {
		var want []schema.Header
		if tt.want {
			want = []schema.Header{{Name: "Mcp-Param-Region", Path: []string{"region"}}}
		}
		if diff := cmp.Diff(want, r.Headers(&tt.caller, tt.tool)); diff != "" {
			t.Errorf("%s: Headers() (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestBadHeadersAreRefusedAtRegistration(t *testing.T) {
	t.Parallel()
	r, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Register(sallyport.Tool{
		Name:   "route",
		Schema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"My Region"}}}`),
		Run:    func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(""), nil },
	})
	const want = "route: schema: /properties/region/x-mcp-header: must be the name of a header"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Register() = %v, want %s", err, want)
	}
}
