package sallyport

import "time"

// Grant is declaration ∩ personality ∩ connected backends, for one tool under
// one personality: the most that a call may touch. Its lists are in canonical
// form and sorted. It is immutable once computed.
type Grant struct {
	// Network is the network policy with the hosts that may be reached.
	Network NetworkGrant `json:"network,omitzero"`
	// Secrets lists the references and "prefix/*" patterns that may be read.
	Secrets []string `json:"secrets,omitempty"`
	// Storage is the store; nil when there is none.
	Storage *StorageGrant `json:"storage,omitempty"`
	// FS is the paths that may be read and written.
	FS FSGrant `json:"fs_reach,omitzero"`
	// Process is the binaries that may be started.
	Process ProcessGrant `json:"process,omitzero"`
	// Attachments is the kinds that may be opened; nil when there are none.
	Attachments *AttachmentsCapability `json:"attachments,omitempty"`
	// Database is the connections that may be used; nil when there are none.
	Database *DatabaseCapability `json:"database,omitempty"`
	// Mail is the relay that may be used; nil when there is none.
	Mail *MailCapability `json:"mail,omitempty"`
	// Input lists what the call may ask behind its caller.
	Input []InputKind `json:"input,omitempty"`
	// Dropped lists what was declared and not granted, with the reasons.
	Dropped []Dropped `json:"dropped,omitempty"`
}

// Dropped is one declared item that the grant does not hold.
type Dropped struct {
	// Capability names the group: network, fs_reach.read, secrets, …
	Capability string `json:"capability"`
	// Item is the declared item.
	Item string `json:"item"`
	// Why is the reason, for the operator.
	Why string `json:"why"`
	// Source is the rule's place as file:line:column; it may be empty.
	Source string `json:"source,omitempty"`
	// Fix is the smallest change that would grant the item.
	Fix string `json:"fix,omitempty"`
	// Linked is true when the item is granted, but a symbolic link on its path
	// prevents its use at this moment.
	Linked bool `json:"linked,omitempty"`
}

// NetworkGrant is the resolved network policy of a call.
type NetworkGrant struct {
	// Allow lists canonical host patterns; "*" means any public host. Empty
	// reaches nothing.
	Allow []string `json:"allow,omitempty"`
	// Deny lists canonical host patterns that take precedence over Allow.
	Deny []string `json:"deny,omitempty"`
	// AllowPrivate also allows loopback, RFC 1918 and unique-local addresses.
	AllowPrivate bool `json:"allow_private_urls,omitempty"`
	// ReadOnly allows only the methods GET and HEAD, and no raw dialling.
	ReadOnly bool `json:"read_only,omitempty"`
}

// StorageGrant is the resolved store of a tool.
type StorageGrant struct {
	// Scope says which calls share the store.
	Scope StorageScope `json:"scope"`
	// TTL is the default lifetime of an entry; 0 means that entries do not
	// expire.
	TTL time.Duration `json:"ttl,omitempty"`
}

// FSGrant is the resolved file reach of a call. Its paths are absolute and
// clean, and each is the place to which a configured path leads. They are
// opened without following any symbolic link; see [Places].
type FSGrant struct {
	// Read lists what may be read.
	Read []string `json:"read,omitempty"`
	// Write lists what may be written.
	Write []string `json:"write,omitempty"`
	// Names maps absolute paths that are spelled through symbolic links of the
	// operator to the places to which they lead. Such a path is in the
	// configuration, or is the workspace.
	Names map[string]string `json:"names,omitempty"`
	// Mode is direct when empty.
	Mode FSMode `json:"mode,omitempty"`
}

// ProcessGrant is the resolved process reach of a call.
type ProcessGrant struct {
	// Binaries lists names; "*" means any on the fixed search path.
	Binaries []string `json:"binaries,omitempty"`
	// ExecFrom lists writable paths whose files may be executed.
	ExecFrom []string `json:"execFrom,omitempty"`
	// Programs lists files and installed packages that children may read and
	// execute in addition to the file reach.
	Programs []string `json:"programs,omitempty"`
}

// Step names a stage of the gate. The constants are in the order of a call.
type Step string

// The steps of one call.
const (
	StepDecode   Step = "decode"
	StepFind     Step = "find"
	StepVisible  Step = "visible"
	StepReady    Step = "available"
	StepBackends Step = "backends"
	StepPermit   Step = "permit"
	StepValidate Step = "validate"
	StepDryRun   Step = "dry_run"
	StepLimit    Step = "limit"
	StepGrant    Step = "grant"
	StepApprove  Step = "approve"
	StepCache    Step = "cache"
	StepIntent   Step = "intent"
	StepRun      Step = "run"
	StepAccess   Step = "access"
	StepReturns  Step = "returns"
	StepReduce   Step = "reduce"
	StepClean    Step = "clean"
	StepTrim     Step = "trim"
	StepWrap     Step = "wrap"
	StepOutcome  Step = "outcome"
)

// Decision is the result of one step. The trail of a call is a list of
// decisions; it is the source of the audit record, explain, the operator's page
// and the tests.
type Decision struct {
	// Step is the stage that decided.
	Step Step `json:"step"`
	// Allowed is false when the step refused.
	Allowed bool `json:"allowed"`
	// Capability names the group about which an accessor decided, such as
	// fs_reach.read; empty for the other steps.
	Capability string `json:"capability,omitempty"`
	// Resource is the host, path, reference or binary about which an accessor
	// decided; empty for the other steps.
	Resource string `json:"resource,omitempty"`
	// Why is the reason in words, for the operator; it may be empty when the
	// step allowed the call.
	Why string `json:"why,omitempty"`
	// Source is the rule's place as file:line:column; it may be empty.
	Source string `json:"source,omitempty"`
	// Fix is the smallest change that would reverse a refusal.
	Fix string `json:"fix,omitempty"`
}
