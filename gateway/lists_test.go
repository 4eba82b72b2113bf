package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/registry"
)

// views is a gate whose tools depend on the caller.
type views struct {
	noForms
	mu  sync.Mutex
	all map[string][]registry.Definition
}

func (v *views) Definitions(c *sallyport.Caller) []registry.Definition {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.all[c.Principal.Name]
}

func (v *views) Call(context.Context, *sallyport.Caller, sallyport.Request) sallyport.Result {
	return sallyport.OK("")
}

// The cache never gives an encoded list to a caller whose tools differ in
// anything, and not to any caller once a tool has changed.
func TestKeptListsAreOfOneView(t *testing.T) {
	base := registry.Definition{Name: "a", Title: "A", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}
	vary := []func(*registry.Definition){
		func(*registry.Definition) {},
		func(d *registry.Definition) { d.Name = "b" },
		func(d *registry.Definition) { d.Title = "B" },
		func(d *registry.Definition) { d.Description = "e" },
		func(d *registry.Definition) { d.Schema = json.RawMessage(`{"type":"object","title":"x"}`) },
		func(d *registry.Definition) { d.Returns = json.RawMessage(`{"type":"object"}`) },
		func(d *registry.Definition) { d.ReadOnly = true },
		func(d *registry.Definition) { d.Destructive = true },
		func(d *registry.Definition) { d.Idempotent = true },
		func(d *registry.Definition) { d.OpenWorld = true },
	}
	gate := &views{all: map[string][]registry.Definition{}}
	server, err := gateway.New(gate, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{Server: server}
	s, _ := k.stdio(t)
	p := &pipe{stream: s, lines: bufio.NewReader(s.out)}
	p.send(t, sent{body: hello})
	seen := map[string]int{}
	for range 2 {
		for i, change := range vary {
			d := base
			change(&d)
			gate.mu.Lock()
			gate.all[sallyport.LocalPrincipal] = []registry.Definition{d}
			gate.mu.Unlock()
			text := p.send(t, sent{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}).text
			if before, known := seen[text]; known && before != i {
				t.Errorf("definitions %d and %d are listed alike: %s", before, i, text)
			}
			seen[text] = i
		}
	}
	if len(seen) != len(vary) {
		t.Errorf("%d lists for %d definitions", len(seen), len(vary))
	}
}

// Two callers of one server get their own lists, in whichever order they ask.
func TestKeptListsAreNotShared(t *testing.T) {
	gate := &views{all: map[string][]registry.Definition{
		"alice": {{Name: "hers", Schema: json.RawMessage(`{"type":"object"}`)}},
		"bob":   {{Name: "his", Schema: json.RawMessage(`{"type":"object"}`)}},
	}}
	server, err := gateway.New(gate, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, &kit{Server: server})
	h.version = "2026-07-28"
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + stateless + `}}`
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			who, want, not := "alice", `"hers"`, `"his"`
			if i%2 == 0 {
				who, want, not = "bob", not, want
			}
			_, text := h.do(t.Context(), http.MethodPost, body, "Mcp-Method", "tools/list", "Authorization", "Bearer "+who)
			if !strings.Contains(text, want) || strings.Contains(text, not) {
				t.Errorf("%s got %s, want %s", who, text, want)
			}
		})
	}
	all.Wait()
}
