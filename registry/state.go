package registry

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/callid"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/deadline"
	"github.com/sallyport/sallyport/internal/delegation"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/scoped"
)

// call is the state of one call on its way through the gate.
type call struct {
	r      *Registry
	caller *sallyport.Caller
	q      sallyport.Request
	start  time.Time
	budget int

	id, session, sessionKey string

	entered Run // the call as one of what runs
	ender   atomic.Pointer[deadline.Context]
	ending  atomic.Pointer[Ended] // why the gate ended it; nil while it did not

	late     bool // the registry is closed
	entry    *toolEntry
	role     *compiledRole
	doc      schema.Document
	scope    *scoped.Scope
	grant    *sallyport.Grant
	level    sallyport.Level                      // of the children; empty when none can be started
	key      string                               // of the cache; empty when the tool does not ask for it
	facts    sallyport.Facts                      // what the call does to its conversation
	sub      *delegation.Delegation               // under which a sub-agent calls; nil for any other caller
	task     *conversation.Task                   // what the session was narrowed to; nil for nothing
	words    conversation.Words                   // what the person told the session
	planned  *argumentPlan                        // see plan
	values   argumentValues                       // what was looked up of the arguments
	limits   []*ceiling.Ceiling                   // the ceilings over the arguments, once they were asked for
	limited  bool                                 // they were
	above    flowHold                             // an argument above the role's ceiling holds the call
	amounts  []ceiling.Amount                     // what counts for bounds over a window
	summed   []summedAmount                       // what of amounts was counted
	room     ceiling.Room                         // of most judgements
	asks     ceilingAsks                          // what the ceilings ask
	unread   map[string]error                     // the sets that count as empty, and why
	hold     flowHold                             // what was read before, or an argument, holds the call
	asked    string                               // the key of the hold when awaitApproval looked at it
	marks    []sallyport.FactMark                 // what was known to be read before
	reads    provenance.Reading                   // what that brought
	others   *provenance.Reading                  // what other sessions read; nil before that is asked
	ended    endedContext                         // see untilEnded
	carried  *facts.Carried                       // what of the arguments was in it; nil when that was not looked for
	past     *replay.Call                         // the call that is decided again; nil for one that is made
	unsure   bool                                 // what the verdict of a past call depends on is not in its record
	reading  atomic.Bool                          // the call may bring untrusted content, and runs
	said     atomic.Bool                          // the call told its caller something while it ran
	lateRead bool                                 // the result is untrusted, which the declaration did not say
	known    bool                                 // marks is what was read before; false when that is not known
	judged   bool                                 // some flow rule may apply to the call
	before   func() ([]sallyport.FactMark, error) // what was known before the intent; nil when no rule depends on it
	named    []string                             // what the names of the grant stand for; nil before that is asked
	uses     []approvalUse                        // the approvals that it has taken
	intended bool                                 // its intent is recorded, or could not be

	result  sallyport.Result // as the tool or a step left it
	cleaned cleanedResult    // as it leaves; set by cleanResult
	bare    bool             // the error is the gate's or an accessor's own text
	full    string           // the value before the reducer, when that changed it
	from    *cachedResult    // set when the result came out of the cache
	stage   sallyport.Step   // the step that refused
	binder  *scoped.Binding  // what the accessors handed out; nil before bindAccessors

	recorded *recordedCall // nil while nothing is recorded

	running  deadline.Context // of the run
	job      toolJob
	progress progressReporter

	cost       *costs.Reservation // what is set aside of budgets; nil for nothing
	aside      float64            // what is set aside of the budget of a task, in US dollars
	unfinished bool               // the tool panicked, or went on after its deadline

	trail trail
	out   sallyport.Call // the tool's: it may outlive the gate's interest
}

// newCall returns the state of a call that begins. What the edge does not
// know stays empty, but a call without a session gets one of its own, so that
// it shares nothing.
func (r *Registry) newCall(caller *sallyport.Caller, q sallyport.Request, budget int) *call {
	c := &call{r: r, q: q, start: time.Now(), budget: budget}
	c.caller, c.sub = r.narrowCaller(caller)
	caller = c.caller
	c.id = callid.New(c.start)
	if c.session = caller.Session; c.session == "" {
		c.session = c.id
	}
	c.sessionKey = sallyport.SessionKey(caller.Principal.Name, c.session)
	c.result.CallID = c.id
	c.entry = r.findEntry(q.Tool)
	return c
}

// workspace is the folder at which relative paths are anchored.
func (c *call) workspace() string {
	return cmp.Or(c.caller.Workspace, c.r.o.Workspace)
}

// addDecision adds a decision to the trail. Accessors call it from any
// goroutine of the tool.
func (c *call) addDecision(d sallyport.Decision) {
	if d.Step == sallyport.StepAccess && !d.Allowed {
		d = c.explainRefusal(d)
	}
	c.trail.addDecision(d)
}

func (c *call) explainRefusal(d sallyport.Decision) sallyport.Decision {
	return c.r.dropUselessFix(c.role.explainRefusal(&c.entry.tool, d))
}

func (c *call) allowStep(s sallyport.Step) bool {
	c.trail.passStep(s)
	return true
}

func (c *call) refuse(d sallyport.Decision, code sallyport.Code, text string) bool {
	d.Allowed = false
	c.addDecision(d)
	c.stage = d.Step
	c.result = sallyport.Result{Error: text, Code: code, CallID: c.id}
	return false
}
