package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/costs"
)

// checkPrice refuses a declared price that is no amount.
func (c *declarationChecker) checkPrice() {
	if p := c.tool.MaxCostUSD; !(p >= 0 && p <= costs.MaxUSD) {
		c.addFault("", "MaxCostUSD is %v: expected 0 to %d", p, int64(costs.MaxUSD))
	}
}

// reserveCost sets aside the most that the call costs, of each budget that it counts for,
// that of a task included. A budget that has no room for it refuses the call. What neither
// declares a price nor reaches anything outside costs nothing, and is not refused.
func (c *call) reserveCost(ctx context.Context) bool {
	t := &c.entry.tool
	if c.sub != nil && !c.caller.DryRun {
		if why := c.sub.Reserve(t.MaxCostUSD); why != "" {
			return c.refuseTask(why)
		}
		c.aside = t.MaxCostUSD
	}
	if c.r.o.Budgets == nil || t.MaxCostUSD == 0 && !t.OpenWorld() {
		return true
	}
	budgets := c.r.o.Budgets(c.caller.Principal.Name, c.caller.Personality)
	if budgets.None() {
		return true
	}
	if c.r.o.Costs == nil {
		return c.refuseUncounted(ctx, errors.New("no store of costs is wired"))
	}
	var most *big.Rat
	if t.MaxCostUSD > 0 {
		most = costs.Amount(t.MaxCostUSD)
	}
	reserved, err := c.r.o.Costs.Reserve(ctx, c.newSpender(), &budgets, most)
	if used, ok := errors.AsType[*costs.UsedUpError](err); ok {
		return c.refuseUsedUp(used)
	}
	if err != nil {
		return c.refuseUncounted(ctx, err)
	}
	c.cost = reserved
	return true
}

// settleCost counts what the call cost in place of what was set aside. Where a tool did not
// come to an end, what it cost is not known, and all that was set aside counts.
func (c *call) settleCost(ctx context.Context) {
	paid := c.result.CostUSD
	if c.unfinished {
		paid = max(paid, c.entry.tool.MaxCostUSD)
	}
	if c.sub != nil && c.from == nil {
		c.sub.Settle(c.aside, paid)
	}
	if c.from != nil || c.r.o.Costs == nil || c.cost == nil && paid == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	if err := c.r.o.Costs.Settle(ctx, cmp.Or(c.cost, c.r.o.Costs.Open(c.newSpender())), paid); err != nil {
		c.logFault("cost not counted", err)
	}
}

func (c *call) newSpender() costs.Spender {
	return costs.Spender{Principal: c.caller.Principal.Name, Role: c.caller.Personality, Session: c.session}
}

// refuseUsedUp refuses a call for which a budget has no room.
func (c *call) refuseUsedUp(used *costs.UsedUpError) bool {
	said := fmt.Sprintf("%s USD per %s", costs.Text(used.Bound), windowText(used.Per))
	if used.Per == costs.SessionSpan {
		said = costs.Text(used.Bound) + " USD per session"
	}
	d := sallyport.Decision{
		Step: sallyport.StepLimit, Source: used.Source,
		Why: fmt.Sprintf("%s has used up its budget of %s", used.Whose, said),
		Fix: "raise that budget",
	}
	message := fmt.Sprintf("Rate limit exceeded: a budget of %s for %s", said, c.q.Tool)
	if used.Wait >= 0 {
		wait := used.Wait.Truncate(time.Millisecond) + time.Millisecond
		d.Fix = fmt.Sprintf("wait %v, or raise that budget", wait)
		message += fmt.Sprintf("; try again in %v", wait)
		defer func() { c.result.RetryAfter = wait }()
	}
	return c.refuse(d, sallyport.CodeRateLimited, message)
}
