// Package action makes tools from configuration: an HTTP request with
// templates, a program that reads JSON and answers JSON, or a Go function
// under the same definition.
//
// Start with [Decode], which reads one action of a configuration file and
// reports everything that is wrong with it at once, and [Definition.Tool],
// which returns the tool for a registry.
//
// It promises that arguments are placed by position and change nothing else:
// not the scheme, host, port, number of path segments, names of query values
// or headers of a request, and neither the arguments nor the environment of a
// program. Secrets are spliced when a request leaves and travel to no other
// origin. It reaches hosts and starts programs through the accessors of the
// call only, and decides nothing that the gate decides.
//
// The register of promises is docs/guarantees.md: G-ACTION, G-SECRET.
package action

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// Toolset is the label of the tools of this package.
const Toolset = "action"

// Definition is one action: what the model sees, what the gate needs, and what
// runs. The zero value is not valid: it has no name and no handler.
type Definition struct {
	// ID is the name of the tool, [a-zA-Z0-9_-]{1,64}.
	ID string
	// Name is the display title; empty means ID.
	Name string
	// Description tells a model when to call the action.
	Description string
	// Parameters is the JSON Schema of the arguments, an object. nil means an
	// object without properties.
	Parameters json.RawMessage
	// Returns is the JSON Schema of the structured part of a result; nil means
	// anything.
	Returns json.RawMessage
	// Permissions lists what a principal needs, all of it.
	Permissions []string
	// RateLimit bounds calls per principal; nil means no limit.
	RateLimit *sallyport.RateLimit
	// Capabilities is what is declared. [Definition.Tool] adds what the
	// handler implies.
	Capabilities sallyport.Capabilities
	// Handler is what runs.
	Handler Handler
	// Idempotent allows the gate to run the action again after a transient
	// failure. GET and HEAD are run again without it.
	Idempotent bool
	// ReadOnly promises that a call changes nothing. GET and HEAD promise it
	// by themselves.
	ReadOnly bool
	// Does lists what a call does beside its answer; nil declares nothing, so that it
	// follows from what the action may touch.
	Does []sallyport.Effect
	// Destinations says which arguments name where something goes, and what their values
	// are: see [sallyport.Tool.Destinations].
	Destinations map[string]sallyport.ValueKind
	// CostUSD is what each call that succeeds costs, in US dollars; 0 means nothing that
	// is known.
	CostUSD float64
	// MaxCostUSD is the most that one call costs; 0 means CostUSD. An answer that should
	// name its price and does not counts as that much.
	MaxCostUSD float64
	// CostAt is the JSON pointer of the price in the answer, which counts in place of
	// CostUSD; empty means /cost_usd for a program that names one, and none for a request.
	CostAt string
	// Toolset is the label of the tool; empty means [Toolset].
	Toolset string
	// Cache asks the gate to keep results; nil means never. A request that may change
	// something is never kept.
	Cache *sallyport.Cache
	// NeedsEnv lists variables of the environment that have to be set, NeedsFiles the
	// absolute paths of files that have to be there, for the action to be offered. They
	// are looked at for each listing and call.
	NeedsEnv, NeedsFiles []string
	// Timeout bounds one call; 0 means the registry's default.
	Timeout time.Duration
	// MaxResultChars bounds the value in Unicode code points; 0 means no bound
	// beside the batch's budget.
	MaxResultChars int
}

// Handler is what an action does: exactly one field is set.
type Handler struct {
	// HTTP sends a request.
	HTTP *HTTP
	// Exec runs a program.
	Exec *Exec
	// Run is a Go function, for actions that are registered from code.
	Run func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error)
}

// Tool returns the tool of the definition. The error is [Faults] and lists
// everything that is wrong. The output of a configured handler is always
// untrusted; the gate decides about that of a Go function no differently.
func (d *Definition) Tool() (sallyport.Tool, error) {
	b := toolBuilder{d: d}
	t := b.buildTool()
	if len(b.faults) > 0 {
		return sallyport.Tool{}, b.faults.Tidy()
	}
	return t, nil
}

// toolBuilder turns a definition into a tool and collects what is wrong.
type toolBuilder struct {
	d      *Definition
	faults Faults
}

func (b *toolBuilder) addFault(pointer, format string, args ...any) {
	b.faults.Add(pointer, format, args...)
}

func (b *toolBuilder) buildTool() sallyport.Tool {
	d := b.d
	t := sallyport.Tool{
		Name: d.ID, Title: d.Name, Description: d.Description,
		Schema: d.Parameters, Returns: d.Returns, Capabilities: d.Capabilities,
		Permissions: d.Permissions, RateLimit: d.RateLimit, MaxResultChars: d.MaxResultChars, Timeout: d.Timeout,
		ReadOnly: d.ReadOnly, Idempotent: d.Idempotent, OutputIsUntrusted: true,
		Does: d.Does, Destinations: d.Destinations,
	}
	b.checkCommon()
	b.checkDestinations()
	b.compileSettings(&t)
	p := b.compilePrice(&t)
	h := &d.Handler
	switch {
	case h.HTTP != nil && h.Exec == nil && h.Run == nil:
		b.refuseUnusable("an HTTP handler", "network and secrets", "network", "secrets")
		b.compileHTTP(&t, p)
		b.checkCached(&t)
	case h.Exec != nil && h.HTTP == nil && h.Run == nil:
		b.refuseUnusable("a program", "network, secrets, fs_reach, process and database", "network", "secrets", "fs_reach", "process", "database")
		b.compileExec(&t, p)
	case h.Run != nil && h.HTTP == nil && h.Exec == nil:
		t.Run = p.pricedRun(h.Run)
	default:
		b.addFault("/handler", "expected exactly one of http, exec and a path")
	}
	return t
}

// refuseUnusable faults the declared capabilities that this kind of handler has
// no way to use: a declaration that grants nothing hides what is meant.
func (b *toolBuilder) refuseUnusable(kind, expected string, usable ...string) {
	for _, name := range group.Unusable(&b.d.Capabilities, usable...) {
		b.addFault("/capabilities/"+name, "%s cannot use it: expected %s", kind, expected)
	}
}

// Missing returns the path of the handler's file when no file is there, else "".
// Calls of such an action fail until the configuration is loaded again.
func (d *Definition) Missing() string {
	e := d.Handler.Exec
	if e == nil {
		return ""
	}
	path := e.Path
	if path == "" && len(e.Command) > 0 {
		path = e.Command[0]
	}
	if info, err := os.Stat(path); filepath.IsAbs(path) && (err != nil || !info.Mode().IsRegular()) {
		return path
	}
	return ""
}
