package upstream

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/lock"
)

// DiscoveryName is the name of the tool that asks a server what it offers.
func DiscoveryName(server string) string { return "discover-" + server }

// Discovery returns a tool for each server, which asks it what it offers. Run
// the tools in a separate gate, in a role that may use the server, so that
// starting the server for its list is decided, confined and recorded like a
// call to it. Their answers are for the operator. The first answer of a server
// becomes the accepted one; later answers are compared with it.
func (m *Mounts) Discovery() []sallyport.Tool {
	tools := make([]sallyport.Tool, 0, len(m.servers))
	for _, s := range m.servers {
		// The server's time ends before that of the call, so that a timeout is
		// reported as the server's fault.
		t := s.newOperatorTool(DiscoveryName(s.Name), "Asks the MCP server "+s.Name+" what it offers.", m.o.StartWait+endGrace+firstPause)
		t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			n, err := s.discoverOffer(ctx, c)
			if err != nil {
				return sallyport.Result{}, err
			}
			return sallyport.OK(n.summarizeOffer()), nil
		}
		tools = append(tools, t)
	}
	return tools
}

// discoverOffer asks the server what it offers and ends the connection, because
// calls have processes of their own.
func (s *mountedServer) discoverOffer(ctx context.Context, c *sallyport.Call) (*serverListing, error) {
	l := s.newLink(connKey{personality: c.Personality})
	l.dropped.Store(true) // no pool holds it
	mark, _ := s.tokenMark(ctx, c.Principal.Name)
	n, err := l.dialServer(ctx, c)
	if err == nil || ctx.Err() == nil {
		s.recordProbe(mark, err)
	}
	if err != nil {
		return nil, err
	}
	defer l.closeAndWait()
	s.acceptListing(n, l)
	return n, nil
}

func (n *serverListing) summarizeOffer() string {
	var parts []string
	for _, kind := range kinds {
		if count := len(n.all[kind]); count > 0 || kind == KindTool {
			parts = append(parts, fmt.Sprintf("%d %ss", count, kind))
		}
	}
	return strings.Join(parts, ", ")
}

// Left is a definition that is not mounted, or is mounted and held back.
type Left struct {
	// Server is the name of its server.
	Server string
	// Kind is the kind of the definition.
	Kind Kind
	// Tool is the name, URI or template that the server uses for it; "*" means
	// all of its kind.
	Tool string
	// Why says what is wrong with it.
	Why string
	// New says that nothing is wrong: the server offers it since it was
	// discovered, and the next configuration mounts it.
	New bool
}

// Tools returns what the discovered servers offer, sorted, and lists what was
// left out and why. A prompt is a tool of [sallyport.FormPrompt]. The resources
// and templates of a server are one tool of [sallyport.FormResource],
// "mcp__<server>__resources". Tools, or prompts, whose names cannot be told
// apart are all left out.
func (m *Mounts) Tools() (tools []sallyport.Tool, left []Left) {
	for _, s := range m.servers {
		s.mu.Lock()
		n := s.accepted
		s.mu.Unlock()
		if n == nil {
			continue
		}
		t, l := s.mountTools(n)
		tools, left = append(tools, t...), append(left, l...)
	}
	return tools, left
}

func (s *mountedServer) mountTools(n *serverListing) (tools []sallyport.Tool, left []Left) {
	leave := func(kind Kind, name, why string) {
		left = append(left, Left{Server: s.Name, Kind: kind, Tool: cmp.Or(name, "*"), Why: string(s.m.o.Cleaner.Text(why))})
	}
	for _, kind := range kinds {
		if why := n.failed[kind]; why != "" {
			leave(kind, "*", why)
		}
	}
	for _, d := range n.nameless {
		leave(d.kind, "?", d.fault)
	}
	mounted := map[definitionKey]*offering{}
	var resources []sallyport.Resource
	refused := findConflicts(s.Name, n.known)
	for _, d := range n.known {
		why := cmp.Or(d.fault, refused[d.definitionKey], s.checkDefinition(d))
		if why == "" {
			if err := s.mountDefinition(d, &tools, &resources); err != nil {
				why = err.Error()
			}
		}
		if why != "" {
			leave(d.kind, d.key, why)
			continue
		}
		mounted[d.definitionKey] = d
	}
	if len(resources) > 0 {
		tools = append(tools, s.newResourceTool(resources))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mounted, s.toolsReturned = mounted, true
	// Views of earlier definitions are no longer valid.
	clear(s.views)
	return tools, left
}

func (s *mountedServer) mountDefinition(d *offering, tools *[]sallyport.Tool, resources *[]sallyport.Resource) error {
	if d.kind == KindResource || d.kind == KindTemplate {
		r, err := s.newResource(d)
		if err == nil {
			*resources = append(*resources, r)
		}
		return err
	}
	t, err := s.newNamedTool(d)
	if err == nil {
		*tools = append(*tools, t)
	}
	return err
}

// findConflicts finds tools, or prompts, of one server whose names cannot stand
// side by side, and says why. Different servers cannot conflict, because the
// server is part of the name. A tool and a prompt cannot either, because their
// forms differ.
func findConflicts(server string, known []*offering) map[definitionKey]string {
	refused := map[definitionKey]string{}
	for _, kind := range [...]Kind{KindTool, KindPrompt} {
		var refs []lock.Ref
		for _, d := range known {
			if d.kind == kind {
				refs = append(refs, lock.Ref{Server: server, Tool: d.key})
			}
		}
		for _, c := range lock.Conflicts(slices.Clip(refs)) {
			for _, r := range c.Tools {
				refused[definitionKey{kind, r.Tool}] = c.Message
			}
		}
	}
	return refused
}
