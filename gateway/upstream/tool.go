package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/schema"
)

// newTool returns a tool with the fields that all tools of a server share.
func (s *mountedServer) newTool(name string) sallyport.Tool {
	touch := sallyport.Touch{Capability: "network", Item: s.URL}
	if len(s.Command) > 0 {
		touch = sallyport.Touch{Capability: "process", Item: s.Command[0]}
	}
	return sallyport.Tool{
		Name: name, Touches: []sallyport.Touch{touch}, Toolset: "mcp", Capabilities: s.allCapabilities(), Permissions: s.Permissions,
		RateLimit: s.RateLimit, Timeout: s.Timeout, OutputIsUntrusted: true,
		Revision: s.configRevision(), Sources: s.Sources, WhyNot: s.unavailableReason,
	}
}

// newOperatorTool returns a tool of a server that is not for models: the operator's
// own gate runs it.
func (s *mountedServer) newOperatorTool(name, description string, timeout time.Duration) sallyport.Tool {
	t := s.newTool(name)
	t.AlwaysInclude, t.OutputIsUntrusted = true, false
	t.Description, t.Timeout, t.Permissions, t.RateLimit = description, timeout, nil, nil
	return t
}

// Implied returns the capabilities that a declaration grants by naming
// something: the binary and the programs, or the host, and the secrets.
func (s *Server) Implied() sallyport.Capabilities {
	bare := Server{Command: s.Command, Programs: s.Programs, URL: s.URL, Headers: s.Headers, Secrets: s.Secrets, OAuth: s.OAuth}
	return bare.allCapabilities()
}

// allCapabilities returns what is declared and what is implied.
func (s *Server) allCapabilities() sallyport.Capabilities {
	c := s.Capabilities
	c.Secrets = slices.Clone(c.Secrets)
	for _, ref := range s.secretRefs() {
		if !reach.MatchRef(c.Secrets, ref) {
			c.Secrets = append(c.Secrets, ref)
		}
	}
	if len(s.Command) > 0 {
		var p sallyport.ProcessCapability
		if c.Process != nil {
			p = *c.Process
		}
		p.AllowedBinaries = append([]string{s.Command[0]}, p.AllowedBinaries...)
		p.Programs = append(p.Programs, s.Programs...)
		c.Process = &p
		return c
	}
	var n sallyport.NetworkCapability
	if c.Network != nil {
		n = *c.Network
	}
	implied := []string{hostOf(s.URL)}
	if s.OAuth != nil {
		implied = append(implied, s.OAuth.Hosts()...)
	}
	n.AllowedHosts = append(implied, n.AllowedHosts...)
	c.Network = &n
	return c
}

// secretRefs lists the secrets that a declaration names.
func (s *Server) secretRefs() (refs []string) {
	for _, h := range s.Headers {
		if h.Secret != "" {
			refs = append(refs, h.Secret)
		}
	}
	for _, e := range s.Secrets {
		refs = append(refs, e.Ref)
	}
	if s.OAuth != nil {
		refs = append(refs, s.OAuth.Refs()...)
	}
	return refs
}

// configRevision identifies the configuration of a server.
func (s *mountedServer) configRevision() string {
	text, err := json.Marshal([]any{s.Command, s.Programs, s.Dir, s.Env, s.Secrets, s.URL, s.Headers, s.Shared, s.Transport, s.OAuth, s.Effects})
	if err != nil {
		return ""
	}
	return digest.Text(text)
}

// newNamedTool makes a tool of a definition that has a name: a tool or a prompt.
func (s *mountedServer) newNamedTool(d *offering) (sallyport.Tool, error) {
	name, err := lock.MapName(s.Name, d.key)
	if err != nil {
		return sallyport.Tool{}, err
	}
	t := s.newTool(name)
	t.Title = string(s.m.o.Cleaner.Text(d.displayTitle()))
	t.Description, _ = output.Trim(string(s.m.o.Cleaner.Text(textOf(d.tree, "description"))), maxDescription)
	t.IsAvailable = func() bool { return s.isAnyAvailable(d.definitionKey) }
	if d.kind == KindPrompt {
		t.Form = sallyport.FormPrompt
		t.Schema, err = s.promptSchema(d)
		t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) { return s.fillPrompt(ctx, c, d) }
		return t, err
	}
	t.SaysReadOnly = s.m.o.Pinned && d.isReadOnly()
	t.Does, t.Destinations = s.Effects[d.key].Does, s.Effects[d.key].Destinations
	var bad [2]error
	t.Schema, bad[0] = s.schemaText(d, "inputSchema")
	t.Returns, bad[1] = s.schemaText(d, "outputSchema")
	headers, unfit := schema.Headers(d.tree["inputSchema"])
	t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		return s.callTool(ctx, c, d, headers)
	}
	return t, errors.Join(bad[0], bad[1], unfit)
}

// schemaText returns a schema as text, which models read; nil when there is none.
func (s *mountedServer) schemaText(d *offering, key string) (json.RawMessage, error) {
	tree, err := d.objectOf(key)
	if tree == nil || err != nil {
		return nil, err
	}
	return json.Marshal(s.m.o.Cleaner.Value(tree))
}

// quoteName quotes a name that a third party chose, for a message. It leaves a long
// name out: a part of it might end with half of a secret, which no cleaner would
// recognize.
func quoteName(name string) string {
	const most = 1 << 10
	if len(name) > most {
		return fmt.Sprintf("a name of %d bytes", len(name))
	}
	return strconv.QuoteToASCII(name)
}
