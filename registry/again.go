package registry

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/replay"
)

// DecideAgain decides a past call under the configuration of this registry, with the
// steps of [Registry.Call] up to the ceilings over arguments and the rules about what
// was read before. Nothing runs, nothing is recorded, and no limit is consumed. What is
// stopped, and what this machine has at the moment, does not count.
//
// Bounds over windows count what the calls added that ran, in the order in which they
// are decided again: see [Options.Sums].
func (r *Registry) DecideAgain(ctx context.Context, caller *sallyport.Caller, past *replay.Call) replay.Verdict {
	c := r.newCall(caller, sallyport.Request{Tool: past.Tool, Args: past.Args}, 0)
	c.past = past
	if c.entry == nil {
		return replay.Verdict{Unknown: "the configuration has no such tool, or does not pin its server"}
	}
	if !c.decodeArgs() || c.doc.Digest() != past.Digest {
		return replay.Verdict{Unknown: "its arguments are not recorded whole, or held a secret"}
	}
	switch v := c.decideSteps(ctx, past); {
	case c.unsure:
		return replay.Verdict{Unknown: replay.UnknownCarried}
	case v.Outcome != "" || v.Unknown != "":
		return v
	}
	for i := range c.amounts {
		if a := &c.amounts[i]; past.Ran {
			if _, err := r.o.Sums.Add(ctx, c.sumKey(a), a.Value, nil); err != nil {
				return replay.Verdict{Unknown: "a sum cannot be kept: " + err.Error()}
			}
		}
	}
	switch {
	case c.hold.why != "":
		return c.heldVerdict(c.hold.why, c.hold.key)
	case c.role.requiresApproval(&c.entry.tool):
		return c.heldVerdict("every call is held until a person approves it", "approvals.require")
	}
	return replay.Verdict{Outcome: replay.Allowed}
}

// heldVerdict returns that a person has to decide, because of a key of the role.
func (c *call) heldVerdict(why, key string) replay.Verdict {
	return replay.Verdict{
		Outcome: replay.Held, Step: sallyport.StepApprove, Code: sallyport.CodeApprovalRequired, Why: why, Source: c.role.sourceOf(key),
	}
}

// decideSteps takes the steps that may refuse the call. The verdict is empty when it may
// run, or is held.
func (c *call) decideSteps(ctx context.Context, past *replay.Call) replay.Verdict {
	refusing := c.assumeRole() && c.checkVisible() && c.checkTask(ctx) && c.checkBackends() && c.checkPermissions() && c.validateArgs() &&
		c.checkResourceURI() && c.checkCeiling(ctx)
	if !refusing {
		return c.refusedVerdict()
	}
	scope, err := c.r.scopeFor(c.entry, c.role)
	if err != nil {
		return replay.Verdict{Unknown: "what it may touch cannot be told: " + err.Error()}
	}
	c.grant, c.hold = scope.Grant(), c.above
	if c.role.personality == nil || newestMark(past.Read, sallyport.FactUntrusted, time.Now()) == nil {
		return replay.Verdict{}
	}
	if !c.checkConfinement() {
		return replay.Verdict{Unknown: "this machine cannot confine what it starts"}
	}
	return c.decideFlow(ctx, past)
}

// refusedVerdict returns that the step which ended the call refuses it.
func (c *call) refusedVerdict() replay.Verdict {
	all := c.trail.decisions()
	d := all[len(all)-1]
	if c.result.Code == sallyport.CodeNotAvailable && d.Capability == "arguments" {
		return replay.Verdict{Unknown: d.Why}
	}
	return replay.Verdict{Outcome: replay.Refused, Step: d.Step, Code: c.result.Code, Why: d.Why, Source: d.Source}
}

// decideFlow applies the rules about what was read before, with what the record says that
// the arguments carried of it.
func (c *call) decideFlow(ctx context.Context, past *replay.Call) replay.Verdict {
	c.facts = c.entry.tool.Facts(c.grant, c.level, workspaceUnder(c.grant, c.workspace()))
	looks := c.looksAtArguments(newestMark(past.Read, sallyport.FactPrivate, time.Now()) != nil || c.facts.Private)
	if looks && (past.Carried == nil || past.Carried.Kinds != c.kindsDigest(c.undeclaredNames())) {
		return replay.Verdict{Unknown: replay.UnknownCarried}
	}
	switch allowed := c.applyFlowRules(ctx, past.Read); {
	case !allowed && c.result.Code == sallyport.CodeNotAvailable:
		return replay.Verdict{Unknown: c.result.Error}
	case !allowed:
		return c.refusedVerdict()
	case looks && past.Carried.More:
		return replay.Verdict{Unknown: replay.UnknownCarried} // another piece may refuse or hold it
	}
	return replay.Verdict{}
}

// looksAtArguments reports whether a rule about what was read before looks at what the
// arguments carry, and may change what becomes of the call.
func (c *call) looksAtArguments(private bool) bool {
	rule := c.flowRule(private, c.isLocalOperator())
	held := c.hold.why != "" || c.role.requiresApproval(&c.entry.tool)
	return c.rulesUntrusted() || rule.action != sallyport.FlowAllow && rule.concern != concernCall && !held
}
