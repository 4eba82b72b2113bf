package upstream_test

import (
	"fmt"
	"strings"
	"testing"
)

// benchServer has twenty tools of a kilobyte.
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

// BenchmarkCall measures a call of a process that runs, one that starts its
// process, and one before which the list has changed: that is looked at before
// either of the latter. The processes are goroutines, so that nothing else counts.
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
			if res := g.as(b.Context(), fmt.Sprint("p", i), "some", "test__tool-1", object{}); !res.OK {
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
