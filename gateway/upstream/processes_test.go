package upstream_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// TestB9_B12_ProcessesAreBoundedAndShared: the idle process of the principal
// with the most processes makes room for another, but a working one does not. A
// principal that finds no room is told so.
func TestB9_B12_ProcessesAreBoundedAndShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScript(t, tool("a"), tool("works"))
		end := make(chan struct{})
		s.answer = func(_ *peer, q *question) any {
			if q.Params.Name == "works" {
				<-end
			}
			return text("fine")
		}
		var servers []upstream.Server
		for i := range 9 {
			name := "test"
			if i > 0 {
				name = fmt.Sprint("test", i)
			}
			servers = append(servers, upstream.Server{Name: name, Command: []string{"scripted"}})
		}
		g := newGateWith(t, &sallyport.Backends{Process: s, Network: &sallyport.NetworkBackend{}}, &upstream.Options{Processes: 8}, servers...)
		as := func(who, server, name string) sallyport.Result {
			return g.callAs(t.Context(), who, "all", server+"__"+name, object{})
		}
		for i := range 9 {
			if res := as("ann", servers[i].Name, "a"); !res.OK {
				t.Fatalf("server %d: %+v", i, res)
			}
			time.Sleep(2 * time.Second)
			if n := s.alive(); n > 4 {
				t.Errorf("%d processes of one principal run", n)
			}
		}
		done := make(chan sallyport.Result, 8)
		work := func(who, server string) {
			go func() { done <- as(who, server, "works") }()
			synctest.Wait()
		}
		for i := range 4 {
			work("ann", servers[i].Name)
		}
		if res := as("ann", "test5", "a"); res.OK || !strings.Contains(res.Error, "too many processes of MCP servers run: 4 of this principal and 4 of all, at most 8") {
			t.Errorf("a fifth that works = %+v", res)
		}
		for _, who := range []string{"bob", "carl"} {
			if res := as(who, "test", "a"); !res.OK {
				t.Errorf("a process of %s beside them = %+v", who, res)
			}
		}
		close(end)
		for range 4 {
			if res := <-done; !res.OK {
				t.Errorf("a call that worked = %+v", res)
			}
		}
		time.Sleep(2 * time.Second)
		for i := range 20 {
			if res := as(fmt.Sprint("p", i), "test", "a"); !res.OK {
				t.Errorf("a process of p%d when all are idle = %+v", i, res)
			}
			time.Sleep(2 * time.Second)
			if n := s.alive(); n > 8 {
				t.Errorf("%d processes run", n)
			}
		}
	})
}
