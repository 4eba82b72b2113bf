package sallyport

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
