package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/dashboard"
	"github.com/sallyport/sallyport/internal/delegation"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/sums"
	"github.com/sallyport/sallyport/internal/tracing"
)

// Recorder keeps the record of calls. Record returns when the event is
// durable, or an error when it was not kept. It must be safe for concurrent
// use. [audit.Log] is one.
type Recorder interface {
	Record(ctx context.Context, e *audit.Event) error
}

// MissingTool says why a tool, a prompt or a resource is not there.
type MissingTool struct {
	// Tool is the name by which roles list it: of a resource, the name of the tool
	// that would read it. Empty means the name in the ID.
	Tool string
	// Plugin is the plugin by which roles list it; empty for what no plugin has.
	Plugin string
	// Why says what holds it back.
	Why string
	// Fix is the command or edit by which an operator changes that; empty where there
	// is none.
	Fix string
}

// Options configure a registry. The zero value is usable: no record is kept.
type Options struct {
	// Recorder keeps intents and outcomes; nil keeps none.
	Recorder Recorder
	// Switches says what an operator has stopped; nil stops nothing.
	Switches Switches
	// Runs follows what runs, and is shared by registries that follow each other;
	// nil means one of the registry's own, with Switches and Standing.
	Runs *Runs
	// Standing says whether who called before a wait may still call after it;
	// nil means that everybody may.
	Standing Standing
	// Limiter counts the admissions of tools with a rate limit; nil refuses
	// those tools.
	Limiter sallyport.Limiter
	// Approvals keeps the calls that a human decides about; nil keeps them in
	// the memory of this registry, for [Registry.Approvals] to decide.
	Approvals sallyport.ApprovalQueue
	// PersonConnected reports whether a person is connected who can decide about
	// held calls; nil means that this is not known, and calls wait.
	PersonConnected func(context.Context) bool
	// UseApprovalRule takes a run of a rule for the session of a held call, or of an
	// exception for exactly this call, if one covers the call, before the call is
	// held; said tells the record so. A rule has to match the call's
	// [sallyport.Approval.Shape], which may be nil, an exception its Digest. An error
	// holds the call. nil means that there are neither.
	UseApprovalRule func(ctx context.Context, held *sallyport.Approval) (said string, ok bool, err error)
	// ClaimApprovalRule takes the place of UseApprovalRule where the run may reach the
	// disk with the record of the call; nil means that it does not.
	ClaimApprovalRule func(ctx context.Context, held *sallyport.Approval) (allowed approvals.Allowance, ok bool, err error)
	// Facts keeps what sessions and principals have read; nil keeps it in the
	// memory of this registry.
	Facts sallyport.FactStore
	// FactsInRecords says that Facts is of the state to which Recorder adds its
	// records. Where that state can, it then reads in them what calls bring, and a
	// call writes nothing else for it.
	FactsInRecords bool
	// Conversations is what conversations read, and is shared by registries that
	// follow each other; nil means one of the registry's own.
	Conversations *conversation.Memory
	// Delegations holds what callers have delegated to sub-agents, and is shared by
	// registries that follow each other. nil refuses every caller that names one.
	Delegations *delegation.Book
	// Known says what the sets of values hold that ceilings over arguments name; nil
	// knows no set.
	Known known.Lookup
	// Sums counts amounts over windows, which ceilings over arguments may bound. nil
	// refuses the calls that such a bound is about.
	Sums *sums.Book
	// Costs counts what calls cost; nil counts nothing, and refuses the calls for which
	// Budgets bounds it.
	Costs *costs.Book
	// Budgets returns what a principal may spend under a role; nil bounds nothing.
	Budgets func(principal, role string) costs.Budgets
	// Dashboard gets the progress of calls that is for users or the dashboard; nil drops
	// it.
	Dashboard *dashboard.Hub
	// Traces begins a span for each call, which is in the context that Recorder gets; nil
	// begins none.
	Traces *tracing.Tracer
	// NoConversation says that what the calls answer reaches no model: nothing
	// is kept of what they read, and no rule about it holds them.
	NoConversation bool
	// Expected says of a name that no tool has why there may be one soon; empty
	// means that there is none. A call of an expected tool is told that it is not
	// currently available. nil expects nothing.
	Expected func(tool string) (why string)
	// Missing says of an ID that no tool has, or whose tool is not available, what
	// holds the tool back; the zero MissingTool where nothing is known. A resource that
	// no tool lists has the ID "resource:URI". It is for the record and for explain:
	// the caller reads the same text with and without it. nil knows nothing.
	Missing func(id string) MissingTool
	// MayCome reports whether a name that no tool has now, such as mcp__bank__*, may stand
	// for one later, so that a task may list it. nil knows of none.
	MayCome func(name string) bool
	// FixCommand returns the command by which an operator lets a tool under a role
	// touch an item of a capability, such as a host of network; empty where there is
	// none. It stands in front of the edit in the fix of a refusal. nil means that
	// fixes name edits only.
	FixCommand func(tool, role, capability, item string) string
	// CommandLine returns a command of an operator, such as "principals start ann",
	// as it is typed; nil means with the name sallyport in front.
	CommandLine func(command string) string
	// Refresh returns a caller with the rights that it has under the
	// configuration of this registry. [Live] uses it, where a caller may have
	// been authenticated before the registry was in force; nil leaves callers
	// as they are. It must not change the caller that it is given.
	Refresh func(ctx context.Context, caller *sallyport.Caller) *sallyport.Caller
	// Logger receives what callers must not see: panics, backends' errors;
	// nil discards it.
	Logger *slog.Logger
	// Workspace is the absolute folder that "${workspace}" means and at
	// which relative paths are anchored; empty refuses both.
	Workspace string
	// Variables are further variables of declared paths, such as "home".
	Variables map[string]string
	// Budget is the number of code points of a batch; 0 means 80,000.
	Budget int
	// Timeout bounds a call; 0 means 2 min.
	Timeout time.Duration
	// Parallel bounds a batch; 0 means 8.
	Parallel int
	// StructuredBytes bounds Structured; 0 means 256 KiB.
	StructuredBytes int
	// PartBytes bounds the data of the parts of one result together; 0 means
	// 8 MiB.
	PartBytes int
	// CacheEntries bounds the result cache; 0 means 1000.
	CacheEntries int
	// Level is recorded for calls that can start no children: how the tools
	// themselves are confined, around the whole process. Empty means none.
	Level sallyport.Level
}

// fillDefaults fills in defaults and reports every field that is out of range.
func (o *Options) fillDefaults() error {
	var faults []error
	positive := func(name string, v *int, otherwise int) {
		if *v < 0 {
			faults = append(faults, fmt.Errorf("registry: %s is negative", name))
		}
		if *v == 0 {
			*v = otherwise
		}
	}
	positive("Budget", &o.Budget, defaultBudget)
	positive("Parallel", &o.Parallel, defaultParallel)
	positive("StructuredBytes", &o.StructuredBytes, defaultStructuredBytes)
	positive("PartBytes", &o.PartBytes, defaultPartBytes)
	positive("CacheEntries", &o.CacheEntries, defaultCacheEntries)
	if o.Timeout < 0 {
		faults = append(faults, errors.New("registry: Timeout is negative"))
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.CommandLine == nil {
		o.CommandLine = func(command string) string { return "sallyport " + command }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Level == "" {
		o.Level = sallyport.LevelNone
	}
	return errors.Join(faults...)
}

// pathVariables returns the variables that declared paths may begin with.
func (o *Options) pathVariables() map[string]string {
	vars := maps.Clone(o.Variables)
	if vars == nil {
		vars = map[string]string{}
	}
	vars["workspace"] = o.Workspace
	return vars
}

// Switches says what an operator has stopped.
type Switches interface {
	// Stopped returns the kind of what is stopped, "everything", "principal",
	// "server", "session" or "tool", the first of them in this order, and why in
	// words for the operator. An empty kind means that nothing is. An error refuses. It is
	// asked at every call and listing, and must be safe for concurrent use.
	Stopped(ctx context.Context, principal, sessionKey, tool string) (kind, why string, err error)
}

// Standing says whether a principal may still call.
type Standing interface {
	// Stands reports whether a principal whom an edge let in at a moment is
	// still there, and by the same token: neither revoked nor expired nor
	// given another one since. An error refuses. It is asked when a held call
	// is about to run, and must be safe for concurrent use.
	Stands(ctx context.Context, principal string, since time.Time) (bool, error)
}
