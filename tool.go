package sallyport

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Tool is a named function that an agent may call, with the declaration of what
// it needs. It is plain data and a Run function. The registry copies it at
// registration and refuses a malformed declaration. Package schema creates one
// from a typed Go function.
type Tool struct {
	// Name is unique in a registry and matches [a-zA-Z0-9_-]{1,64}. Names
	// that begin with "mcp__" belong to the MCP bridge.
	Name string
	// Form is how clients see the tool; empty means a tool.
	Form Form
	// Title is the display title; empty means Name.
	Title string
	// Description tells a model when to call the tool.
	Description string
	// Toolset is the group label: file, web, terminal, …
	Toolset string
	// Plugin is the id of the plugin that brought the tool; empty for a
	// built-in one.
	Plugin string
	// Schema is the JSON Schema (2020-12) of the arguments, an object. Nil
	// means an object without properties. That of FormPrompt has only
	// properties of type string. FormResource has no schema of its own: its
	// only argument is uri.
	Schema json.RawMessage
	// Resources lists the resources that a tool of FormResource reads. A call
	// cannot ask it for any other.
	Resources []Resource
	// Returns is the JSON Schema that Result.Structured must satisfy; nil
	// means anything.
	Returns json.RawMessage
	// Capabilities is what the tool touches outside itself.
	Capabilities Capabilities
	// Touches lists what a call uses, as far as that is known before it runs.
	// The gate asks a human about a held call only when the grant covers all of
	// it: a call that would be refused anyway is refused first. Nil lists
	// nothing.
	Touches []Touch
	// Revision identifies the behaviour of Run when that is configured, for
	// example by a digest. The gate treats another revision as another
	// definition and uses neither an approval nor a cached result of the former
	// one. Empty for code.
	Revision string
	// Sources maps a key of the definition, such as "rateLimit" or
	// "permissions", to its position as file:line:column, and "" to the
	// position of the whole. It is for the operator and no part of the
	// definition. Nil for code.
	Sources map[string]string
	// Permissions lists the permissions that a principal needs to call the
	// tool. It needs all of them.
	Permissions []string
	// RateLimit bounds calls per principal; nil means no limit.
	RateLimit *RateLimit
	// MaxResultChars bounds the value in Unicode code points, in addition to
	// the batch's budget; 0 means no such bound.
	MaxResultChars int
	// Timeout bounds one call; 0 means the registry's default.
	Timeout time.Duration
	// MaxCostUSD is the most that one call costs, in US dollars: the gate sets it aside
	// from the budgets that a call counts for. 0 means that it is not known. A tool that
	// touches nothing outside and leaves it 0 is not refused when a budget is used up.
	MaxCostUSD float64
	// HonoursDeadline promises that Run returns soon after its context has ended,
	// whatever it waits for, and never ends its goroutine. The gate then runs it on
	// the goroutine of the caller, which is quicker, and cannot answer for it when
	// it is late. Where false, which is always safe, the gate answers a second
	// after the deadline whatever Run does. It is no part of the definition.
	HonoursDeadline bool
	// ReadOnly promises that a call changes nothing outside the process. The
	// gate enforces it: the network accessor sends only GET and HEAD, and
	// registration refuses a declaration of writes, processes or mail.
	ReadOnly bool
	// SaysReadOnly is the same promise, but the gate cannot enforce it: an
	// upstream server makes it in a definition that the operator has approved.
	// Only [Tool.Facts] uses it.
	SaysReadOnly bool
	// Does lists the effects of a call, as its author or the operator declares
	// them. Nil means that they are not declared: they then follow from ReadOnly,
	// SaysReadOnly and the grant, and of a tool of an MCP server nothing else is
	// known.
	Does []Effect
	// Destinations says which arguments name where something goes, and what their
	// texts are: the name of a property, or "a.b" for one below another.
	Destinations map[string]ValueKind
	// Idempotent allows the gate to run the tool again after a transient
	// failure.
	Idempotent bool
	// AlwaysInclude makes the tool visible whatever the toolset says.
	AlwaysInclude bool
	// ListedAs is a tool that does this one's work: lists for models and users show
	// that one alone to callers who see both. This one stays callable.
	ListedAs string
	// OutputIsUntrusted marks output that another party controls: the gate
	// neutralises and wraps it, on success and on failure.
	OutputIsUntrusted bool
	// Foreign says that others wrote what the tool returns, whatever it touches, such as the
	// text of a page that an earlier call opened: it counts as untrusted content that came
	// into the conversation.
	Foreign bool
	// Cache asks the gate to keep results; nil means never.
	Cache *Cache
	// Tasks says whether a run may go on after the request was answered with a
	// task, once the tool calls [Call.Detach]; empty means never. FormTool
	// only.
	Tasks TaskSupport
	// IsAvailable reports whether the tool can work now; nil means always. The
	// gate calls it for each listing and call, from many goroutines. False or a
	// panic hides this tool only.
	IsAvailable func() bool
	// WhyNot returns the reason why IsAvailable is false. Callers read it, so
	// it must hold words of the runtime only, no untrusted text. nil, or an
	// empty text, gives no reason. The gate calls it as often as IsAvailable.
	WhyNot func() string
	// Run does the work. The context carries the deadline and cancellation. The
	// result may be a failure. [ErrorResult] turns an error into a failure,
	// which keeps the Source and the CostUSD of the result beside it. A panic becomes
	// execution_failed. Run is called from many goroutines, each time with a
	// Call of its own.
	Run func(ctx context.Context, c *Call) (Result, error)
}

// Touch is one thing that each call of a tool uses: the thing named by an
// argument, which is a text or a list of texts, or a fixed thing.
type Touch struct {
	// Capability is the group: network for an absolute URL, fs_reach.read or
	// fs_reach.write for a path, process for a binary, secrets for a
	// reference, database for a connection, mail for an address.
	Capability string
	// Argument is the name of an argument. An absent or empty argument names
	// nothing. Empty where Item is set.
	Argument string
	// Item is the fixed thing, for a tool that always uses it.
	Item string
}

// Form is how clients see a tool. The gate decides, confines and records a
// prompt and a resource like any call; clients only list and request them
// differently.
type Form string

// The forms.
const (
	// FormTool: a model calls it.
	FormTool Form = ""
	// FormPrompt: a person chooses it as a template. The Parts of its result
	// are messages, each with a Role.
	FormPrompt Form = "prompt"
	// FormResource: a client attaches what it reads. The Parts of its result
	// are of kind PartResource.
	FormResource Form = "resource"
)

// TaskSupport says whether a call of a tool may become a task, whose caller
// asks for the result later.
type TaskSupport string

// The kinds of support.
const (
	// TaskNever always answers with the result.
	TaskNever TaskSupport = ""
	// TaskOptional answers with a task when the surface and the client support
	// tasks, and with the result otherwise.
	TaskOptional TaskSupport = "optional"
	// TaskRequired refuses a client without tasks on a surface that has tasks.
	// A surface without tasks answers with the result.
	TaskRequired TaskSupport = "required"
)

// Valid reports whether t is one of the kinds.
func (t TaskSupport) Valid() bool {
	switch t {
	case TaskNever, TaskOptional, TaskRequired:
		return true
	default:
		return false
	}
}

// Resource is one thing, or one family of things, that a tool of FormResource
// reads.
type Resource struct {
	// URI identifies it. Exactly one of URI and Template is set.
	URI string `json:"uri,omitempty"`
	// Template is a URI template (RFC 6570) for a family of resources.
	Template string `json:"template,omitempty"`
	// Name is the name of the resource.
	Name string `json:"name"`
	// Title is the display title; empty means Name.
	Title string `json:"title,omitempty"`
	// Description tells people and models what the resource is; it may be
	// empty.
	Description string `json:"description,omitempty"`
	// MediaType is the type of the contents; empty means unknown.
	MediaType string `json:"media_type,omitempty"`
	// Size is the length in bytes; 0 means unknown.
	Size int64 `json:"size,omitempty"`
}

// RateLimit admits at most Requests calls in any Window.
type RateLimit struct {
	// Requests is the number of admissions, at least 1.
	Requests int
	// Window is the length of the sliding window, more than 0.
	Window time.Duration
}

// Cache asks the gate to keep the successful results of a tool.
type Cache struct {
	// TTL is how long a result may be used; 0 means five minutes.
	TTL time.Duration
}

// Reducer shortens the result of one tool to what a model needs. Reduce must be
// deterministic and must not do I/O. A Reduce that panics leaves the result
// unchanged.
type Reducer struct {
	// Tool is the exact ID of the tool.
	Tool string
	// Reduce returns the shorter result. It is called from many goroutines.
	Reduce func(Result, ReducerContext) Result
}

// ReducerContext holds what a reducer may use besides the result.
type ReducerContext struct {
	// Args holds the arguments of the call, with defaults filled in. It is read
	// only.
	Args json.RawMessage
	// Turn is the number of the caller's turn; 0 when the edge does not know
	// it.
	Turn int
}

const mcpPrefix = "mcp__"

// ID returns the text by which a [Request] names the tool: the Name of a tool,
// and the Name behind "prompt:" or "resource:" for the other forms. The forms
// thus have separate names.
func (t *Tool) ID() string {
	if t.Form == FormTool {
		return t.Name
	}
	return string(t.Form) + ":" + t.Name
}

// ParseID splits what [Tool.ID] returns. A text that does not begin with the
// prefix of another form is the name of a tool.
func ParseID(id string) (form Form, name string) {
	before, after, ok := strings.Cut(id, ":")
	if f := Form(before); ok && (f == FormPrompt || f == FormResource) {
		return f, after
	}
	return FormTool, id
}

// AsksFor reports whether the tool asks for at least one of these permissions.
func (t *Tool) AsksFor(permissions ...string) bool {
	return slices.ContainsFunc(t.Permissions, func(p string) bool { return slices.Contains(permissions, p) })
}

// Server returns the MCP server that the tool belongs to: the second segment
// of "mcp__<server>__<tool>". It is empty for any other name.
func (t *Tool) Server() string {
	rest, ok := strings.CutPrefix(t.Name, mcpPrefix)
	if !ok {
		return ""
	}
	server, _, ok := strings.Cut(rest, "__")
	if !ok {
		return ""
	}
	return server
}

// Source returns the position of a key of the definition. When the key itself
// has none, it returns the position of the whole, or "" when nothing is known.
func (t *Tool) Source(key string) string {
	if s, ok := t.Sources[key]; ok {
		return s
	}
	return t.Sources[""]
}

// Effects reports whether a call may change something outside the process,
// judged from the declaration alone.
func (t *Tool) Effects() bool {
	return t.strongestEffect() > changesNothing
}

// Destructive reports whether a call may overwrite or remove what exists
// beyond the tool's own store.
func (t *Tool) Destructive() bool {
	return t.strongestEffect() == changesOthers
}

// OpenWorld reports whether a call may reach systems that the operator does
// not run: the network, mail, or whatever a child process reaches.
func (t *Tool) OpenWorld() bool {
	for i := range groupEffects {
		if g := &groupEffects[i]; g.openWorld && g.declared(&t.Capabilities) {
			return true
		}
	}
	return false
}
