package registry

import (
	"context"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped"
)

// describeToTool fills in what the tool learns about the call. It is the
// tool's own from then on: the gate does not look at it again.
func (c *call) describeToTool() {
	caller := c.caller
	c.out = sallyport.Call{
		ID: c.id, ToolCallID: c.q.ID, Tool: c.q.Tool, Args: c.doc.JSON, Checked: true,
		Session: c.session, SessionKey: c.sessionKey, Principal: caller.Principal,
		Personality: caller.Personality, Platform: caller.Platform,
		Agent: caller.Agent, Team: caller.Team, Workspace: c.workspace(),
		Turn: caller.Turn, Messages: caller.Messages, MemoryScope: caller.MemoryScope,
		Tainted:      c.isTainted(),
		ResultBudget: c.limitChars(), NetworkPolicy: c.grant.Network,
	}
	c.out.Detach, c.out.Outlive = func() {}, c.outliveCall
	if c.entry.tool.Tasks != sallyport.TaskNever && caller.Detach != nil {
		c.out.Detach = caller.Detach
	}
	// The edge's list may serve other calls: a tool gets a copy.
	c.out.Principal.Permissions = slices.Clone(caller.Principal.Permissions)
	c.out.Principal.Personalities = slices.Clone(caller.Principal.Personalities)
}

func (c *call) bindAccessors(ctx context.Context, clock *runClock) bool {
	c.describeToTool()
	turn := scoped.Turn{Attachments: c.caller.Attachments, Input: c.input(clock)}
	if len(c.grant.Process.Binaries) > 0 {
		turn.Outlive = c.registerOutliving
	}
	binding, err := c.scope.Bind(ctx, &c.out, turn, c.addDecision)
	if err != nil {
		c.logFault("bind", err)
		return c.refuse(sallyport.Decision{Step: sallyport.StepGrant, Why: err.Error()},
			sallyport.CodeNotAvailable, "Tool "+c.q.Tool+" is not currently available")
	}
	c.binder = binding
	return true
}
