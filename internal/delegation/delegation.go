// Package delegation holds what callers have delegated to sub-agents: for each, a
// grant that is narrower than that of the caller, a budget, an end, and a credential.
//
// Start with [Book.Begin]. A delegation lives as long as the call that made it. Its
// sub-agent calls as that call's principal, in the same role and the same session: what
// either of them reads counts for both. It holds less than the call: the tools and the
// ceilings of every delegation on the way to it apply together, so that none gives more
// than the one before it. With a delegation end all that were made under it.
//
// The register of promises is docs/guarantees.md: G-DELEGATE.
package delegation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/costs"
)

const (
	// maxDepth bounds how many delegations are within each other.
	maxDepth = 3
	// maxOwn bounds the delegations of a principal at a time, maxAll those of everybody.
	maxOwn, maxAll = 16, 256
)

// Terms are what a delegation may use. They hold beside those of the delegations around
// it.
type Terms struct {
	// Tools and Arguments narrow what may be called, as those of [sallyport.Task] do.
	// nil leaves the role's tools.
	Tools []string `json:"tools,omitempty"`
	// Arguments holds ceilings over arguments, by tool.
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"`
	// Calls is how many calls may be made, refused ones included; 0 means none.
	Calls int `json:"calls"`
	// CostUSD is how much calls may cost together, in US dollars; 0 means that no price
	// is looked at. The call that exceeds it is the last one.
	CostUSD float64 `json:"cost_usd,omitempty"`
	// Until is when it ends.
	Until time.Time `json:"until"`
}

// Book holds the delegations of a process. The zero value is not usable: see [NewBook].
// It is safe for concurrent use.
type Book struct {
	key []byte // from which the keys of all credentials come

	mu   sync.Mutex // also guards what is used of each budget
	live map[string]*Delegation
	own  map[string]int // by principal
}

// Delegation is one sub-agent's right to call. What its fields say does not change. It is
// safe for concurrent use.
type Delegation struct {
	// ID is that of the call that made it.
	ID string
	// Terms are its own. Those around it hold as well.
	Terms Terms
	// Remote is true when its credential opens the gate's HTTP surface. A program in the
	// sandbox has a channel in place of a credential.
	Remote bool
	// Principal is who delegated, with the rights that it had then.
	Principal sallyport.Principal

	book   *Book
	parent *Delegation
	caller sallyport.Caller // the fields that every call of the sub-agent has
	mac    []byte
	ctx    context.Context
	cancel context.CancelCauseFunc

	calls int      // made
	cost  *big.Rat // exact, so that three times 0.1 are 0.3
	most  *big.Rat // of cost; nil where no price is looked at
}

// errEnded is why what runs for a sub-agent ends.
var errEnded = &sallyport.Error{Code: sallyport.CodePermissionDenied, Detail: "the task for which it was made is over"}

// Begin begins a delegation for the call of a tool. It ends with ctx, when its terms say
// so, with the one under which the call itself was made, or by [Delegation.End], which
// the caller has to call. The error is a [sallyport.Error] and says what does not allow
// it.
func (b *Book) Begin(ctx context.Context, c *sallyport.Call, terms Terms, remote bool) (*Delegation, error) {
	d := &Delegation{
		ID: c.ID, Terms: terms, Remote: remote, Principal: c.Principal, book: b, cost: new(big.Rat),
		caller: sallyport.Caller{
			Session: c.Session, Personality: c.Personality, Agent: c.Agent, Team: c.Team, Workspace: c.Workspace, MemoryScope: c.MemoryScope,
		},
	}
	d.Principal.Delegation, d.Principal.Person, d.Principal.Personalities = d.ID, false, []string{c.Personality}
	if terms.CostUSD > 0 {
		d.most = costs.Amount(terms.CostUSD)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if outer := c.Principal.Delegation; outer != "" {
		if d.parent = b.live[outer]; d.parent == nil {
			return nil, errEnded
		}
	}
	name := c.Principal.Name
	switch {
	case d.countDepth() > maxDepth:
		return nil, &sallyport.Error{Code: sallyport.CodePermissionDenied, Detail: fmt.Sprintf("Permission denied: tasks are at most %d deep", maxDepth)}
	case b.own[name] >= maxOwn || len(b.live) >= maxAll:
		return nil, ErrFull
	case b.live[d.ID] != nil:
		return nil, fmt.Errorf("delegation: call %s has one already", d.ID)
	}
	var err error
	if d.mac, err = d.sealCredential(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithDeadlineCause(ctx, terms.Until, errEnded)
	var end context.CancelCauseFunc
	d.ctx, end = context.WithCancelCause(ctx)
	d.cancel = func(why error) { end(why); stop() }
	if d.parent != nil {
		// Its call ends with the one around it, too. This does not wait for that.
		context.AfterFunc(d.parent.ctx, func() { d.cancel(errEnded) })
	}
	b.live[d.ID] = d
	b.own[name]++
	return d, nil
}

// ErrFull means that there is no room for another delegation now.
var ErrFull = &sallyport.Error{
	Code: sallyport.CodeExecutionFailed, Detail: fmt.Sprintf("no more than %d tasks run at a time: wait for one of them", maxOwn),
}

// countDepth is the number of delegations on the way to this one, itself included.
func (d *Delegation) countDepth() (n int) {
	for ; d != nil; d = d.parent {
		n++
	}
	return n
}

// listPath lists the delegations on the way to this one, the outermost first.
func (d *Delegation) listPath() (list []*Delegation) {
	for ; d != nil; d = d.parent {
		list = append(list, d)
	}
	slices.Reverse(list)
	return list
}

// Chain names the calls that delegated, the outermost first, joined by "/". It is what
// the record of a call says.
func (d *Delegation) Chain() string {
	var ids []string
	for _, one := range d.listPath() {
		ids = append(ids, one.ID)
	}
	return strings.Join(ids, "/")
}

// Tasks returns what calls are narrowed to, together; nothing for a nil d.
func (d *Delegation) Tasks() (list []sallyport.Task) {
	for _, one := range d.listPath() {
		list = append(list, sallyport.Task{Tools: one.Terms.Tools, Arguments: one.Terms.Arguments})
	}
	return list
}

// Admit counts a call against the budgets of the delegation and of those around it. When
// one of them does not allow it, nothing is counted, and why says so.
func (d *Delegation) Admit(now time.Time) (why string) {
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	for one := d; one != nil; one = one.parent {
		switch {
		case one.ctx.Err() != nil || d.book.live[one.ID] != one || !now.Before(one.Terms.Until):
			return "the task is over"
		case one.calls >= one.Terms.Calls:
			return fmt.Sprintf("the task has made its %d calls", one.Terms.Calls)
		case one.most != nil && one.cost.Cmp(one.most) >= 0:
			return fmt.Sprintf("the task has spent its %g US dollars", one.Terms.CostUSD)
		}
	}
	for one := d; one != nil; one = one.parent {
		one.calls++
	}
	return ""
}

// Reserve sets aside the most that a call costs, in US dollars, of the delegation and of
// those around it; 0 for a call that declares no price. When one of them has no room for
// it, nothing is set aside, and why says so.
func (d *Delegation) Reserve(most float64) (why string) {
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	more := costs.Amount(most)
	for one := d; one != nil; one = one.parent {
		if one.most == nil {
			continue
		}
		if left := new(big.Rat).Sub(one.most, one.cost); more.Cmp(left) > 0 {
			return fmt.Sprintf("the task has %s of its %g US dollars left", costs.Text(atLeastZero(left)), one.Terms.CostUSD)
		}
	}
	d.addCost(more)
	return ""
}

// Settle replaces what was set aside for a call by what it cost, in US dollars.
func (d *Delegation) Settle(aside, cost float64) {
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	paid := costs.Amount(cost)
	d.addCost(paid.Sub(paid, costs.Amount(aside)))
}

// addCost is called with the book locked.
func (d *Delegation) addCost(cost *big.Rat) {
	for one := d; one != nil; one = one.parent {
		one.cost = atLeastZero(new(big.Rat).Add(one.cost, cost))
	}
}

func atLeastZero(amount *big.Rat) *big.Rat {
	if amount.Sign() < 0 {
		return new(big.Rat)
	}
	return amount
}

// Used returns how many calls were made, and what they cost in US dollars.
func (d *Delegation) Used() (calls int, cost float64) {
	d.book.mu.Lock()
	defer d.book.mu.Unlock()
	cost, _ = d.cost.Float64()
	return d.calls, cost
}

// Context ends with the delegation.
func (d *Delegation) Context() context.Context { return d.ctx }

// Narrow returns a caller as the sub-agent that it is: in the session and the role of the
// call that delegated, whatever the edge says, and no person.
func (d *Delegation) Narrow(caller *sallyport.Caller) *sallyport.Caller {
	own := *caller
	from := &d.caller
	own.Session, own.Personality, own.Agent, own.Team = from.Session, from.Personality, from.Agent, from.Team
	own.Workspace, own.MemoryScope, own.Asks = from.Workspace, from.MemoryScope, false
	own.Principal.Person = false
	return &own
}

// End ends the delegation and all that were made under it, and what runs for them. It
// may be called more than once.
func (d *Delegation) End() {
	d.cancel(errEnded)
	b := d.book
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live[d.ID] != d {
		return
	}
	delete(b.live, d.ID)
	if b.own[d.Principal.Name]--; b.own[d.Principal.Name] == 0 {
		delete(b.own, d.Principal.Name)
	}
}

// Find returns the delegation with an ID, nil when there is none, or it is over.
func (b *Book) Find(id string) *Delegation {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.findLocked(id)
}

func (b *Book) findLocked(id string) *Delegation {
	d := b.live[id]
	for one := d; one != nil; one = one.parent {
		if one.ctx.Err() != nil || b.live[one.ID] != one {
			return nil
		}
	}
	return d
}
