package upstream

import (
	"encoding/json"
	"testing"

	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/internal/lock"
)

// TestAServerThatKnowsItsCallers may offer each of them something else: what
// one principal is shown holds nothing back from the others.
func TestAServerThatKnowsItsCallers(t *testing.T) {
	t.Parallel()
	m, err := New([]Server{{Name: "far", URL: "https://mcp.example/mcp"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := m.servers[0]
	offer := func(text string) *serverListing {
		n := &serverListing{all: map[lock.Kind][]json.RawMessage{}, byKey: map[definitionKey]*offering{}, failed: map[lock.Kind]string{}}
		n.addDefinitions(lock.KindTool, []json.RawMessage{json.RawMessage(text)})
		return n
	}
	const accepted, other = `{"name":"a","inputSchema":{}}`, `{"name":"a","description":"yours","inputSchema":{}}`
	s.acceptListing(offer(accepted), s.newLink(connKey{personality: "role"}))
	s.mountTools(s.accepted)
	tool := definitionKey{lock.KindTool, "a"}
	for _, knows := range []bool{true, false} {
		s.OAuth = map[bool]*oauth.Server{true: {}, false: nil}[knows]
		l := s.newLink(connKey{principal: "bob", personality: "role"})
		s.compareOffers(l, offer(other))
		if err := s.refuseRequest(l, "a", []definitionKey{tool}); err == nil {
			t.Errorf("knows %v: the connection itself may be asked for another definition", knows)
		}
		if s.isAnyAvailable(tool) != knows {
			t.Errorf("knows %v: the tool is available to others %v", knows, !knows)
		}
		if knows {
			// Nor does it release what another view has held back.
			s.left[tool] = "held"
			s.compareOffers(l, offer(accepted))
			if s.isAnyAvailable(tool) {
				t.Error("what one caller is shown brings the tool back for all")
			}
			delete(s.left, tool)
		}
		s.forgetConnection(l)
	}
}
