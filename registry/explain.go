package registry

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/scoped"
)

// Explanation says what a tool would get under a personality, and why.
type Explanation struct {
	// Tool is the ID that was asked about.
	Tool string `json:"tool"`
	// Personality is the role under which it was asked.
	Personality string `json:"personality"`
	// Decisions is what the steps before the arguments say.
	Decisions []sallyport.Decision `json:"decisions"`
	// Declared is the tool's declaration.
	Declared sallyport.Capabilities `json:"declared"`
	// Grant is what remains of it, with everything dropped.
	Grant *sallyport.Grant `json:"grant,omitempty"`
	// FilesStand is true when the declared files count without a list of the
	// personality.
	FilesStand bool `json:"files_stand,omitempty"`
	// Level is how children would be confined; empty when the grant has no
	// binaries, or when a decision says what this machine lacks.
	Level sallyport.Level `json:"level,omitempty"`
	// Arguments is what the personality says of arguments of the tool; nil for
	// nothing.
	Arguments []ceiling.Row `json:"arguments,omitempty"`
	// Facts is what a call does to its conversation.
	Facts sallyport.Facts `json:"facts,omitzero"`

	registry *Registry
	role     *compiledRole
	entry    *sallyport.Tool
}

// Explain answers with the gate's own functions what Call would decide before
// it looks at arguments. An unknown tool gives a single refusing decision.
func (r *Registry) Explain(caller *sallyport.Caller, tool string) (Explanation, error) {
	x := Explanation{Tool: tool, Personality: caller.Personality}
	c := r.newCall(caller, sallyport.Request{Tool: tool}, 0)
	if c.mayReachTool(context.Background()) && c.checkPermissions() {
		c.predictApproval()
	}
	x.Decisions, x.Level = c.trail.decisions(), c.level
	if c.entry == nil {
		return x, nil
	}
	x.Declared = group.Clone(&c.entry.tool.Capabilities)
	var err error
	x.registry, x.role, x.entry = r, r.roleFor(caller.Personality), &c.entry.tool
	x.Arguments = r.ceilingRows(x.role, c.entry)
	if p := x.role.personality; p != nil && x.Declared.FSReach != nil {
		x.FilesStand = p.FilesStand(x.entry)
	}
	if x.Grant, err = r.grantOf(x.entry, x.role); err == nil {
		x.Facts = c.entry.tool.Facts(x.Grant, c.level, workspaceUnder(x.Grant, c.workspace()))
		r.dropLinked(x.Grant, x.role)
		r.dropNotCreated(x.Grant, c.level, x.role)
	}
	return x, err
}

// mayReachTool takes the steps of [Registry.Call] that need neither arguments
// nor permissions.
func (c *call) mayReachTool(ctx context.Context) bool {
	return c.findTool() && c.checkStopped(ctx) && c.assumeRole() && c.checkVisible() && c.checkReady() &&
		c.checkBackends() && c.checkConfinement()
}

// predictApproval notes that a human will be asked, which no step before the
// arguments decides.
func (c *call) predictApproval() {
	if c.role.requiresApproval(&c.entry.tool) {
		c.addDecision(sallyport.Decision{
			Step: sallyport.StepApprove, Allowed: true, Why: "every call is held until a person approves it",
			Source: c.role.sourceOf("approvals.require"),
		})
	}
	c.predictFlow()
}

// Host asks the policy of the network accessor whether it would look up and
// dial a host at a port. The addresses that a name has are judged when it is
// dialled.
func (x *Explanation) Host(host string, port uint16) sallyport.Decision {
	d := sallyport.Decision{Step: sallyport.StepAccess, Capability: "network", Resource: host}
	if x.Grant == nil {
		d.Why = "the tool is not known"
		return d
	}
	name, err := reach.CanonicalHost(host)
	if err != nil {
		d.Why = err.Error()
		return d
	}
	d.Resource = name
	if port != 443 && port != 80 {
		d.Resource = net.JoinHostPort(name, strconv.Itoa(int(port)))
	}
	if what := x.registry.describeReserved(name, port); what != "" {
		d.Why, d.Source = name+" is "+what, reach.FloorSource
		return d
	}
	policy, err := egress.NewPolicy(x.Grant.Network)
	if err != nil {
		d.Why = err.Error()
		return d
	}
	err = policy.Check(name, port)
	refusal, refused := errors.AsType[*sallyport.Error](err)
	if !refused {
		d.Allowed = err == nil
		return d
	}
	d.Why = refusal.Detail
	if !scoped.OutsideGrant(refusal) {
		d.Source = reach.FloorSource
		asked := d
		asked.Resource = net.JoinHostPort(name, strconv.Itoa(int(port)))
		if privateAddressOf(asked) != "" {
			d = asked // whose fix has the port
		}
	}
	return x.role.explainRefusal(x.entry, d)
}

// Path asks the tool's own file accessor whether it would open a path for an
// operation, read or write. Nothing is opened and nothing is recorded.
func (r *Registry) Path(ctx context.Context, caller *sallyport.Caller, tool, operation, path string) sallyport.Decision {
	d := sallyport.Decision{Step: sallyport.StepAccess, Capability: "fs_reach." + operation, Resource: path}
	c := r.newCall(caller, sallyport.Request{Tool: tool}, 0)
	if !c.mayReachTool(ctx) || !c.resolveGrant() {
		all := c.trail.decisions()
		return all[len(all)-1]
	}
	var noted *sallyport.Decision
	c.describeToTool()
	_, err := c.scope.Bind(ctx, &c.out, scoped.Turn{}, func(n sallyport.Decision) {
		if !n.Allowed {
			n = c.explainRefusal(n)
			noted = &n
		}
	})
	if err != nil {
		d.Why = "the accessor cannot be made"
		return d
	}
	switch err := scoped.Probe(&c.out, "fs_reach."+operation, path); {
	case err == nil:
		if operation == "write" {
			if refused := c.checkCreation(c.out.FS.Abs(path)); refused != nil {
				return *refused
			}
		}
		d.Allowed = true
	case noted != nil:
		if operation == "write" && c.mayBeCreated(noted, path) {
			noted.Why += "; while it is not there, a child in direct mode that may write its folder can create it, and that is reported"
		}
		return *noted
	default:
		d.Why = err.Error()
	}
	return d
}

// mayBeCreated reports whether a child of the tool may create a path although the floor
// closes it: it covers what is there.
func (c *call) mayBeCreated(d *sallyport.Decision, path string) bool {
	if d.Source != reach.FloorSource || c.entry.tool.Capabilities.Process == nil && c.entry.tool.Server() == "" {
		return false
	}
	_, err := os.Lstat(c.out.FS.Abs(path))
	return errors.Is(err, fs.ErrNotExist)
}

func (c *call) predictFacts() bool {
	scope, err := c.r.scopeFor(c.entry, c.role)
	if err != nil {
		return false
	}
	c.facts = c.entry.tool.Facts(scope.Grant(), c.level, workspaceUnder(scope.Grant(), c.workspace()))
	return true
}

// predictFlow notes what becomes of the call once everything was read that a
// rule is about.
func (c *call) predictFlow() {
	if c.role.personality == nil || !c.predictFacts() {
		return
	}
	rule := c.flowRule(true, false)
	if rule.action == sallyport.FlowAllow {
		return
	}
	why := "once untrusted content was read, each call is "
	if rule.key == keyAfterBoth && !c.facts.Private && rule.concern != concernCall {
		why = "once private data and untrusted content were read, each call is "
	}
	if rule.action == sallyport.FlowApprove {
		why += "held until a person approves it"
	} else {
		why += "refused"
	}
	switch rule.concern {
	case concernArguments:
		why += " when an argument came out of that"
	case concernPlaces:
		why += " when where it reads came out of that"
	}
	if c.isLocalOperator() {
		if free := c.flowRule(true, true); free.action == sallyport.FlowAllow {
			why += "; not for the local user at the command line"
		}
	}
	c.addDecision(sallyport.Decision{Step: sallyport.StepApprove, Allowed: true, Why: why, Source: c.role.sourceOf(rule.key)})
}

// mayHoldForFlow reports whether a flow rule may hold a call of a tool.
func (r *Registry) mayHoldForFlow(caller *sallyport.Caller, e *toolEntry) bool {
	c := &call{r: r, caller: caller, entry: e, role: r.roleFor(caller.Personality)}
	if c.role.personality == nil || !c.checkConfinement() || !c.predictFacts() {
		return false
	}
	return c.flowRule(true, c.isLocalOperator()).action == sallyport.FlowApprove
}
