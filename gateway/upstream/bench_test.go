package upstream_test

import (
	"fmt"
	"strings"
	"testing"
)

// benchServer returns a server with twenty tools of a kilobyte each.
func benchServer(b *testing.B) *script {
	s := &script{t: b, peers: map[*peer]bool{}, asked: map[string]int{}, lists: map[string]any{}}
	s.says = object{"capabilities": object{"tools": object{}}, "serverInfo": object{"name": "scripted", "version": "1"}}
	tools := []any{}
	for i := range 20 {
		tools = append(tools, tool(fmt.Sprint("tool-", i), object{"description": strings.Repeat("x", 1000)}))
	}
	s.lists["tools/list"] = object{"tools": tools}
	s.answer = func(*peer, *question) any { return text("done") }
	return s
}

// BenchmarkCall measures a call of a running process, one that starts its
// process, and one after a change of the list. The latter two list the server
// first. The processes are goroutines, so that the cost of real ones does not
// count.
func BenchmarkCall(b *testing.B) {
	g := scripted(b, benchServer(b), nil)
	b.Run("running", func(b *testing.B) {
		for b.Loop() {
			if res := g.call("test__tool-1", nil); !res.OK {
				b.Fatal(res.Error)
			}
		}
	})
	b.Run("first", func(b *testing.B) {
		i := 0
		for b.Loop() {
			i++
			if res := g.callAs(b.Context(), fmt.Sprint("p", i), "some", "test__tool-1", object{}); !res.OK {
				b.Fatal(res.Error)
			}
		}
	})
	b.Run("changed", func(b *testing.B) {
		s := benchServer(b)
		g := scripted(b, s, nil)
		for b.Loop() {
			s.announce()
			if res := g.call("test__tool-1", nil); !res.OK {
				b.Fatal(res.Error)
			}
		}
	})
}
