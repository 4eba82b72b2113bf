package registry

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/schema"
)

// List returns the tools that the caller sees, sorted by name: those of FormTool
// that the gate would let past visibility and availability. The slice is the
// caller's; the tools' schemas are shared and read only, and narrowed to what the role
// permits of arguments. ListedAs stays where the caller sees that tool too: lists for
// models and users leave such a tool out.
func (r *Registry) List(caller *sallyport.Caller) []sallyport.Tool {
	entries := r.visibleEntries(caller, sallyport.FormTool)
	tools, role := toolsOf(entries), r.roleFor(caller.Personality)
	for i, e := range entries {
		tools[i].ListedAs, tools[i].Schema = listedAs(entries, e), r.shownSchema(role, e)
	}
	return tools
}

// listedAs returns the name of the tool that lists show instead of an entry, which is
// one of those that a caller sees; empty when they show the entry itself.
func listedAs(entries []*toolEntry, e *toolEntry) string {
	if name := e.tool.ListedAs; name != "" && slices.ContainsFunc(entries, func(o *toolEntry) bool { return o.tool.Name == name && o.tool.ListedAs == "" }) {
		return name
	}
	return ""
}

// visibleEntries returns what the caller sees of a form, sorted by name.
func (r *Registry) visibleEntries(caller *sallyport.Caller, form sallyport.Form) []*toolEntry {
	caller, sub := r.narrowCaller(caller)
	if !caller.Principal.MayTake(caller.Personality) || sub == nil && caller.Principal.Delegation != "" {
		return nil
	}
	role, stopped := r.roleFor(caller.Personality), r.stopFilter(caller)
	shown, narrowed := r.listRole(role, form), sub.Tasks()
	out := make([]*toolEntry, 0, len(shown))
	for _, e := range shown {
		if isExcluded(&e.tool, caller.Exclude) || stopped(e.id) || !permitsTool(caller.Principal.Task, &e.tool) || !permitTool(narrowed, &e.tool) {
			continue
		}
		if ready, _ := r.checkAvailability(e); ready.Allowed {
			out = append(out, e)
		}
	}
	return out
}

// Tools returns every registered tool of any form, sorted by name, for checks and
// reference pages. The slice is the caller's; the tools' schemas are shared
// and read only.
func (r *Registry) Tools() []sallyport.Tool {
	return toolsOf(r.listEntries(func(*toolEntry) bool { return true }))
}

func toolsOf(entries []*toolEntry) []sallyport.Tool {
	out := make([]sallyport.Tool, len(entries))
	for i, e := range entries {
		out[i] = cloneTool(&e.tool)
	}
	return out
}

// Prompts returns the prompts that the caller sees, sorted by name. Name is the
// bare name; the call is of "prompt:" and the name.
func (r *Registry) Prompts(caller *sallyport.Caller) []Definition {
	return r.definitionsOf(caller, sallyport.FormPrompt)
}

// Resources returns the resources that the caller sees, sorted by URI or
// template. Of those that several tools list there is none: which one is meant
// would be a guess. Nor is there one whose URI holds a secret.
func (r *Registry) Resources(caller *sallyport.Caller) []sallyport.Resource {
	cl := r.cleaner.Load().cleaner
	count := map[string]int{}
	entries := r.visibleEntries(caller, sallyport.FormResource)
	for _, e := range entries {
		for i := range e.tool.Resources {
			count[resourceKey(&e.tool.Resources[i])]++
		}
	}
	out := []sallyport.Resource{}
	for _, e := range entries {
		for _, res := range e.tool.Resources {
			if count[resourceKey(&res)] > 1 || !cl.Accepts(res.URI) || !cl.Accepts(res.Template) {
				continue
			}
			res.Name, res.Title, res.Description = string(cl.Text(res.Name)), string(cl.Text(res.Title)), string(cl.Text(res.Description))
			out = append(out, res)
		}
	}
	slices.SortFunc(out, func(a, b sallyport.Resource) int {
		return strings.Compare(a.URI+a.Template, b.URI+b.Template)
	})
	return out
}

// Reader returns the ID of the tool that reads a URI for the caller: the one
// that lists it, else the one with a template that matches. ok is false when
// the caller sees none, and when there are several.
func (r *Registry) Reader(caller *sallyport.Caller, uri string) (id string, ok bool) {
	if len(uri) > maxURI {
		return "", false
	}
	best, several := readsNot, false
	for _, e := range r.visibleEntries(caller, sallyport.FormResource) {
		switch how := e.reads.match(uri); {
		case how == readsNot || how < best:
		case how == best:
			several = true
		default:
			best, several, id = how, false, e.id
		}
	}
	if several || best == readsNot {
		return "", false
	}
	return id, true
}

// Asks reports whether a held call may be put before the person behind the
// caller's client: a human decides about it before it runs, or may, should its
// arguments be outside a ceiling that holds it or the conversation have read what a rule
// is about; the principal is a person; and
// the personality does not keep decisions for the operator. What an operator
// has stopped is not shown.
func (r *Registry) Asks(caller *sallyport.Caller, id string) bool {
	e, ro := r.findEntry(id), r.roleFor(caller.Personality)
	return e != nil && caller.Principal.Person && ro.mayElicit() &&
		(ro.requiresApproval(&e.tool) || r.mayHoldForFlow(caller, e) || r.mayHoldForCeiling(ro, e)) && !r.stopFilter(caller)(id)
}

// Headers returns the arguments of a tool that clients repeat in headers of
// HTTP: none for what is no tool, and for one that the caller does not see,
// which the call itself refuses. They are shared: read only.
func (r *Registry) Headers(caller *sallyport.Caller, tool string) []schema.Header {
	e := r.findEntry(tool)
	if e == nil || e.tool.Form != sallyport.FormTool || len(e.args.Headers()) == 0 {
		return nil
	}
	ro := r.roleFor(caller.Personality)
	if !caller.Principal.MayTake(caller.Personality) || !ro.decideVisible(&e.tool, caller.Exclude).Allowed || !r.showsTool(ro, e) {
		return nil
	}
	return e.args.Headers()
}

// FileArguments returns the arguments of a tool that take files. It returns none
// when the caller does not see the tool.
func (r *Registry) FileArguments(caller *sallyport.Caller, tool string) []attached.Argument {
	e := r.findEntry(tool)
	if e == nil || e.tool.Form != sallyport.FormTool {
		return nil
	}
	ro := r.roleFor(caller.Personality)
	if !caller.Principal.MayTake(caller.Personality) || !ro.decideVisible(&e.tool, caller.Exclude).Allowed || !r.showsTool(ro, e) {
		return nil
	}
	return attached.Arguments(e.tool.Schema)
}

// Inquires reports whether a tool declares that it asks the caller. What a
// role leaves it of that is decided when it asks.
func (r *Registry) Inquires(id string) bool {
	e := r.findEntry(id)
	return e != nil && len(e.tool.Capabilities.Input) > 0
}

// Tasks returns what a tool declares about tasks; nothing for an unknown one.
func (r *Registry) Tasks(id string) sallyport.TaskSupport {
	if e := r.findEntry(id); e != nil {
		return e.tool.Tasks
	}
	return sallyport.TaskNever
}

// Stands reports whether a caller whom an edge let in at a moment may still hear
// of a call of a tool that it made then: the operator has not revoked it, or stopped it,
// its session or the tool. When that cannot be told, it may not.
func (r *Registry) Stands(ctx context.Context, caller *sallyport.Caller, tool string, since time.Time) bool {
	p := caller.Principal.Name
	if s := r.o.Standing; s != nil {
		if ok, err := s.Stands(ctx, p, since); err != nil || !ok {
			return false
		}
	}
	if s := r.o.Switches; s != nil {
		kind, _, err := s.Stopped(ctx, p, sallyport.SessionKey(p, caller.Session), tool)
		return err == nil && kind == ""
	}
	return true
}

// Definition is a tool as a model sees it.
type Definition struct {
	// Name and Title identify the tool.
	Name, Title string
	// Description is cleaned of control sequences and template tokens.
	Description string
	// Schema and Returns are the JSON Schemas; Returns may be nil. Schema is narrowed
	// to what the role permits of arguments.
	Schema, Returns json.RawMessage
	// ReadOnly, Destructive, Idempotent and OpenWorld are derived from the
	// declaration.
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	// ListedAs is the tool that lists for models show instead of this one, since the
	// caller sees both; empty when they show this one.
	ListedAs string
}

// emptyObject is the schema of a tool that takes no arguments.
var emptyObject = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// Definitions returns what List returns, in the form that surfaces hand to
// models.
func (r *Registry) Definitions(caller *sallyport.Caller) []Definition {
	return r.definitionsOf(caller, sallyport.FormTool)
}

func (r *Registry) definitionsOf(caller *sallyport.Caller, form sallyport.Form) []Definition {
	cleaner, role, entries := r.cleaner.Load().cleaner, r.roleFor(caller.Personality), r.visibleEntries(caller, form)
	out := make([]Definition, len(entries))
	for i, e := range entries {
		t := &e.tool
		out[i] = Definition{
			Name: t.Name, Title: t.Title, Description: string(cleaner.Text(t.Description)),
			Schema: r.shownSchema(role, e), Returns: t.Returns,
			ReadOnly: !t.Effects(), Destructive: t.Destructive(),
			Idempotent: t.Idempotent || !t.Effects(), OpenWorld: t.OpenWorld(), ListedAs: listedAs(entries, e),
		}
		if out[i].Title == "" {
			out[i].Title = t.Name
		}
		if len(out[i].Schema) == 0 {
			out[i].Schema = emptyObject
		}
	}
	return out
}
