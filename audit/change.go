package audit

import "github.com/sallyport/sallyport/output"

// Action says what an operator did, or what the gate did because of it.
type Action string

// The actions that are recorded.
const (
	// ActionAdd made a principal.
	ActionAdd Action = "principal.add"
	// ActionRotate gave a principal another token.
	ActionRotate Action = "principal.rotate"
	// ActionRevoke ended a principal.
	ActionRevoke Action = "principal.revoke"
	// ActionStop threw a kill switch, ActionStart released it.
	ActionStop Action = "switch.stop"
	// ActionStart released a kill switch.
	ActionStart Action = "switch.start"
	// ActionApply wrote what a child had changed of a project's configuration.
	ActionApply Action = "pending.apply"
	// ActionDrop forgot such a change.
	ActionDrop Action = "pending.drop"
	// ActionForget removed what was kept of what a principal's sessions have
	// read.
	ActionForget Action = "facts.forget"
	// ActionApprove let a held call run once, ActionDeny refused it.
	ActionApprove Action = "approval.approve"
	// ActionDeny refused a held call, or took an approval or a rule back.
	ActionDeny Action = "approval.deny"
	// ActionAllow let the calls of a shape run in the session of a held call: a
	// rule was given.
	ActionAllow Action = "approval.allow"
	// ActionReload put a changed configuration in force.
	ActionReload Action = "configuration.reload"
	// ActionPin wrote what MCP servers are and offer into the lock file for the
	// first time, ActionPinApprove pinned a change.
	ActionPin Action = "lock.pin"
	// ActionPinApprove pinned a change of a server that was pinned before.
	ActionPinApprove Action = "lock.approve"
	// ActionGrant added something to what a server, role or tool may touch.
	ActionGrant Action = "grant.add"
	// ActionUngrant took something off what a server, role or tool may touch.
	ActionUngrant Action = "grant.remove"
	// ActionEnd ended what a call had left running, since it may not run any
	// more. The event's principal is whose it was.
	ActionEnd Action = "run.end"
	// ActionNarrow took hosts from what runs.
	ActionNarrow Action = "run.narrow"
	// ActionLogout removed the tokens of a principal at an MCP server.
	ActionLogout Action = "login.remove"
	// ActionAcceptProgram: a program may run as it is now: what an action or a server
	// runs was changed where tools may write, or the configuration gets secrets from
	// it.
	ActionAcceptProgram Action = "program.accept"
	// ActionSecret: the value of a secret was stored or removed. The target is its
	// reference; no record holds the value.
	ActionSecret Action = "secret.change"
	// ActionForgetPlace: a place in which tools could write is forgotten, so that
	// links in it count as the operator's.
	ActionForgetPlace Action = "place.forget"
	// ActionTry connected to a database or a mail relay to see whether it
	// answers.
	ActionTry Action = "connection.try"
)

// Change is what an operator did. Who and when are the event's.
type Change struct {
	// Action is what was done.
	Action Action `json:"action"`
	// Target is what it was done to: a principal, the kind and name of what
	// is stopped, the id of a held call, the fingerprint of a configuration,
	// the part of a lock file.
	Target output.Clean `json:"target"`
	// Detail is what else is known of it, in words.
	Detail output.Clean `json:"detail,omitempty"`
	// User is the user of the operating system who did it; empty when it is
	// not known.
	User string `json:"user,omitempty"`
}

func (c *Change) boundedCopy() *Change {
	return &Change{
		Action: clipText(c.Action, maxName), Target: clipText(c.Target, maxName),
		Detail: clipText(c.Detail, maxReason), User: clipText(c.User, maxName),
	}
}
