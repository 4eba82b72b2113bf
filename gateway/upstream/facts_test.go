package upstream_test

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// TestHintsOfToolsAreKept: the hints of a tool count for the facts of its calls
// only if they are exact and the operator has approved the definition.
func TestHintsOfToolsAreKept(t *testing.T) {
	t.Parallel()
	for _, pinned := range []bool{true, false} {
		testHints(t, pinned)
	}
}

func testHints(t *testing.T, pinned bool) {
	t.Helper()
	hinted := func(name string, annotations any) object {
		return tool(name, object{"annotations": annotations})
	}
	g := scripted(t, newScript(t, tool("silent"), hinted("reads", object{"readOnlyHint": true}),
		hinted("writes", object{"readOnlyHint": false}), hinted("odd", object{"readOnlyHint": "true"})), &upstream.Options{Pinned: pinned})
	said := map[string]bool{}
	everything := scripted(t, withEverything(t), &upstream.Options{Pinned: pinned})
	for _, tool := range everything.Tools() {
		if tool.Form == sallyport.FormResource && tool.SaysReadOnly != pinned {
			t.Errorf("SaysReadOnly of %s = %v, want %v", tool.ID(), tool.SaysReadOnly, pinned)
		}
	}
	for _, tool := range g.Tools() {
		said[tool.Name] = tool.SaysReadOnly
	}
	for name, want := range map[string]bool{"silent": false, "reads": pinned, "writes": false, "odd": false} {
		if got, ok := said["mcp__test__"+name]; got != want || !ok && name != "odd" {
			t.Errorf("SaysReadOnly of %s = %v, listed %v, want %v", name, got, ok, want)
		}
	}
}
