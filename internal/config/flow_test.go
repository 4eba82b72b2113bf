package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

func TestFlowIsRead(t *testing.T) {
	c, err := Parse("/work/s.yaml", []byte(`version: 1
personalities:
  none: {}
  strict:
    safety:
      flow:
        after_untrusted_private: refuse
        allow: ["mcp__notes__*"]
        after_untrusted: {approve: ["@web", mcp__a__b], refuse: ["*"]}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]sallyport.Flow{
		"none":   {},
		"strict": {AfterUntrustedPrivate: sallyport.FlowRefuse, Allow: []string{"mcp__notes__*"}, Approve: []string{"@web", "mcp__a__b"}, Refuse: []string{"*"}},
	}
	for name, flow := range want {
		if diff := cmp.Diff(flow, c.Personalities[name].Flow); diff != "" {
			t.Errorf("Flow of %s (-want +got):\n%s", name, diff)
		}
	}
	p := c.Personalities["strict"]
	for key, want := range map[string]string{
		"safety.flow.after_untrusted_private": "/work/s.yaml:7:9",
		"safety.flow.after_untrusted.refuse":  "/work/s.yaml:9:57",
	} {
		if got := p.Source(key); got != want {
			t.Errorf("Source(%s) = %s, want %s", key, got, want)
		}
	}
}
