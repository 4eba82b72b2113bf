package sallyport

import "time"

// Grant is declaration ∩ personality ∩ what the operator wired, for one tool
// under one personality: the most that a call may touch. Its lists are in
// canonical form and sorted. It is immutable once computed.
type Grant struct {
	// Network is the hosts that may be reached.
	Network NetworkGrant `json:"network,omitzero"`
	// Secrets lists references and "prefix/*" patterns.
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
	// Input is whom the call may ask behind its caller.
	Input []InputKind `json:"input,omitempty"`
	// Dropped is what was declared and not granted, with the reason.
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
	// Linked says that the item is granted and a symbolic link on its path keeps
	// it from being used at this moment.
	Linked bool `json:"linked,omitempty"`
}

// NetworkGrant is the resolved network policy of a call.
type NetworkGrant struct {
	// Allow lists canonical host patterns; "*" means any public host. Empty
	// reaches nothing.
	Allow []string `json:"allow,omitempty"`
	// Deny lists canonical host patterns that beat Allow.
	Deny []string `json:"deny,omitempty"`
	// AllowPrivate lifts loopback, RFC 1918 and unique-local addresses.
	AllowPrivate bool `json:"allow_private_urls,omitempty"`
	// ReadOnly admits the methods GET and HEAD only and no raw dialling.
	ReadOnly bool `json:"read_only,omitempty"`
}

// StorageGrant is the resolved store of a tool.
type StorageGrant struct {
	// Scope says who shares it.
	Scope StorageScope `json:"scope"`
	// TTL is the default lifetime of an entry; 0 means that entries do not
	// expire.
	TTL time.Duration `json:"ttl,omitempty"`
}

// FSGrant is the resolved file reach of a call: absolute, cleaned paths of places.
// They are opened without following any symbolic link; see [Places].
type FSGrant struct {
	// Read lists what may be read.
	Read []string `json:"read,omitempty"`
	// Write lists what may be written.
	Write []string `json:"write,omitempty"`
	// Names says where absolute paths lead that are spelled through symbolic links
	// of the operator: a path of the configuration, or the workspace, and its
	// place.
	Names map[string]string `json:"names,omitempty"`
	// Mode is direct when empty.
	Mode FSMode `json:"mode,omitempty"`
}

// ProcessGrant is the resolved process reach of a call.
type ProcessGrant struct {
	// Binaries lists names; "*" means any on the fixed search path.
	Binaries []string `json:"binaries,omitempty"`
	// ExecFrom lists write reach that may be executed.
	ExecFrom []string `json:"execFrom,omitempty"`
	// Programs lists files and installed packages that children may read and
	// execute beside the file reach.
	Programs []string `json:"programs,omitempty"`
}

// Step names a stage of the gate. The order of the constants is the order of
// a call.
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

// Decision is what one step said. The trail of a call is a list of them; it
// feeds the audit record, explain, the operator's page and the tests.
type Decision struct {
	// Step is the stage that decided.
	Step Step `json:"step"`
	// Allowed is false when the step refused.
	Allowed bool `json:"allowed"`
	// Capability names the group that an accessor decided about, such as
	// fs_reach.read; empty for the other steps.
	Capability string `json:"capability,omitempty"`
	// Resource is the host, path, reference or binary that an accessor
	// decided about; empty for the other steps.
	Resource string `json:"resource,omitempty"`
	// Why is the reason in words, for the operator; it may be empty when
	// the step allowed.
	Why string `json:"why,omitempty"`
	// Source is the rule's place as file:line:column; it may be empty.
	Source string `json:"source,omitempty"`
	// Fix is the smallest change that would turn a refusal around.
	Fix string `json:"fix,omitempty"`
}
