package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/internal/running"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

// stopWait bounds how long the server waits for cancelled calls. The gate
// answers after one second for a tool that ignores the cancellation.
const stopWait = 5 * time.Second

// Gate is what the server needs of a registry. It must be safe for concurrent
// use.
type Gate interface {
	// Definitions returns the tools that the caller sees, sorted by name.
	Definitions(caller *sallyport.Caller) []registry.Definition
	// Prompts returns the prompts that the caller sees, sorted by their bare
	// names. The id of a call is "prompt:" followed by the name.
	Prompts(caller *sallyport.Caller) []registry.Definition
	// Resources returns the resources that the caller sees, sorted by URI or
	// template.
	Resources(caller *sallyport.Caller) []sallyport.Resource
	// Reader returns the id to call to read a URI. ok is false when the caller
	// sees nothing that reads it.
	Reader(caller *sallyport.Caller, uri string) (id string, ok bool)
	// Asks reports whether a call is held for a human, who may be the person
	// behind the caller's client.
	Asks(caller *sallyport.Caller, id string) bool
	// Headers returns the arguments of a tool that clients repeat in HTTP
	// headers. It returns none when the caller does not see the tool.
	Headers(caller *sallyport.Caller, tool string) []schema.Header
	// FileArguments returns the arguments of a tool that take files. It returns
	// none when the caller does not see the tool.
	FileArguments(caller *sallyport.Caller, tool string) []attached.Argument
	// Inquires reports whether a tool declares that it asks its caller for
	// input.
	Inquires(id string) bool
	// Tasks returns what a tool declares about tasks.
	Tasks(id string) sallyport.TaskSupport
	// Stands reports whether a caller that called a tool at the given moment
	// may still see the result.
	Stands(ctx context.Context, caller *sallyport.Caller, tool string, since time.Time) bool
	// Call decides and makes one call.
	Call(ctx context.Context, caller *sallyport.Caller, q sallyport.Request) sallyport.Result
	// Reject records a request that was broken before it was one.
	Reject(ctx context.Context, caller *sallyport.Caller, q sallyport.Request, why string) sallyport.Result
}

// Options configure a server. The zero value is usable.
type Options struct {
	// Personality is the role of every caller that may take it. Other callers
	// get the first role of their principal.
	Personality string
	// Principal returns the principal of stdio, where requests carry no
	// authentication: the local user. The server calls it for each call, so
	// that changed rights apply at once. nil means sallyport.LocalPrincipal, a
	// person without permissions.
	Principal func() sallyport.Principal
	// Version is reported to clients; empty means "dev".
	Version string
	// Desk records the decision of the person behind a client about a call that
	// is held for a human. nil means that the server asks no one over the
	// protocol.
	Desk sallyport.ApprovalDesk
	// Files keeps the files that clients send along with calls; nil refuses them.
	Files *attached.Shelf
	// Traced says that the gate traces calls, so that what requests say of their
	// trace is read.
	Traced bool
	// Logger receives the protocol's own events; nil discards them.
	Logger *slog.Logger
}

// core is what the handlers of all methods share: the gate, and what is kept
// between the requests of clients.
type core struct {
	gate          Gate
	o             Options
	identity      []byte // the server's identity in each result, encoded
	conversations conversationSet
	lists         pageCache
	changes       changeHub
	followed      followedResources
	questions     *running.Set // questions that wait for an answer
	asked         openQuestions
	seal          *stateSeal // encrypts the state that clients keep between two rounds
	parked        pendingCalls
	tasks         taskSet
	answers       answerBuffers
}

// newCore returns the core of a server over a gate.
func newCore(gate Gate, o *Options) (*core, error) {
	c := &core{
		gate: gate, questions: running.New(maxQuestions, maxOwnQuestions), tasks: newTasks(),
		conversations: conversationSet{idle: map[string]*currentConversation{}},
		changes:       changeHub{listening: map[chan struct{}]struct{}{}},
		followed:      followedResources{by: map[string]map[string]string{}},
	}
	if o != nil {
		c.o = *o
	}
	if c.o.Principal == nil {
		c.o.Principal = func() sallyport.Principal { return sallyport.Principal{Name: sallyport.LocalPrincipal, Person: true} }
	}
	c.o.Version = cmp.Or(c.o.Version, "dev")
	if c.o.Logger == nil {
		c.o.Logger = slog.New(slog.DiscardHandler)
	}
	var errs [2]error
	c.identity, errs[0] = json.Marshal(c.implementation())
	c.seal, errs[1] = newSeal()
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	return c, nil
}

// implementation returns the identity of the server.
func (c *core) implementation() *mcp.Implementation {
	return &mcp.Implementation{Name: "sallyport", Title: "Sallyport", Version: c.o.Version}
}
