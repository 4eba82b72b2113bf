package upstream_test

import "testing"

// TestHintsOfToolsAreKept: what a tool says of itself counts for the facts of
// its calls, and only when it says exactly that.
func TestHintsOfToolsAreKept(t *testing.T) {
	hinted := func(name string, annotations any) object {
		return tool(name, object{"annotations": annotations})
	}
	g := scripted(t, newScript(t, tool("silent"), hinted("reads", object{"readOnlyHint": true}),
		hinted("writes", object{"readOnlyHint": false}), hinted("odd", object{"readOnlyHint": "true"})), nil)
	said := map[string]bool{}
	for _, tool := range g.Tools() {
		said[tool.Name] = tool.SaysReadOnly
	}
	for name, want := range map[string]bool{"silent": false, "reads": true, "writes": false, "odd": false} {
		if got, ok := said["mcp__test__"+name]; got != want || !ok && name != "odd" {
			t.Errorf("SaysReadOnly of %s = %v, listed %v, want %v", name, got, ok, want)
		}
	}
}
