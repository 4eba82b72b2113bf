package registry

import (
	"context"
	"fmt"
	"math/big"

	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/sums"
)

// checkSums says of each bound over a window whether the call would exceed it. What it
// adds is counted once nothing else can refuse the call: see consumeSums.
func (c *call) checkSums(ctx context.Context) bool {
	var adds map[sums.Key]*big.Rat // what the call adds to each sum; nil while there is one
	if len(c.amounts) > 1 {
		adds = map[sums.Key]*big.Rat{}
	}
	for i := range c.amounts {
		a := &c.amounts[i]
		if c.r.o.Sums == nil {
			return c.refuseUnreadCeiling(fmt.Errorf("%s: no store of sums is wired", a.Key))
		}
		key := c.sumKey(a)
		amount := a.Value
		if adds != nil {
			if before := adds[key]; before != nil {
				amount = new(big.Rat).Add(before, amount)
			}
			adds[key] = amount
		}
		fits, err := c.r.o.Sums.Fits(ctx, key, amount, a.Sum.Bound())
		if err != nil {
			return c.refuseUnreadCeiling(err)
		}
		if !fits && !c.judgeOutside(c.exceeded(a)) {
			return false
		}
	}
	return true
}

// consumeSums counts what the call adds to bounds over windows. One that has been used up
// since it was checked refuses the call, or holds it.
func (c *call) consumeSums(ctx context.Context) bool {
	for i := range c.amounts {
		a := &c.amounts[i]
		bound := a.Sum.Bound()
		if c.above.has(a.Key + ceiling.WordSum) {
			bound = nil // a person let this call exceed it
		}
		added, err := c.r.o.Sums.Add(ctx, c.sumKey(a), a.Value, bound)
		switch {
		case err != nil:
			return c.refuseUnreadCeiling(err)
		case added:
			continue
		case !c.judgeOutside(c.exceeded(a)):
			return false
		}
		c.addHold(*holdOutside(c.exceeded(a)))
		if !c.awaitApproval(ctx) {
			return false
		}
		if _, err := c.r.o.Sums.Add(ctx, c.sumKey(a), a.Value, nil); err != nil {
			return c.refuseUnreadCeiling(err)
		}
	}
	return true
}

// exceeded describes a bound that the call would exceed.
func (c *call) exceeded(a *ceiling.Amount) *ceiling.Outside {
	why := fmt.Sprintf(ceiling.SumExceeded+"%s would be more than %s", windowText(a.Sum.Per), a.Sum.Max)
	if a.Sum.By != "" {
		why += " for this " + a.Sum.By
	}
	return &ceiling.Outside{Pointer: a.Pointer, Key: a.Key, Word: ceiling.WordSum, Why: why, Action: a.Action}
}

// sumKey names what a bound counts: the tool, unless the rule is over several, the
// principal, the bound with its window, and the value of the argument that it names. A
// shorter window forgets earlier.
func (c *call) sumKey(a *ceiling.Amount) sums.Key {
	tool := c.entry.id
	if a.Sum.Together {
		tool = ""
	}
	return sums.Key{Bound: sums.Bound{Tool: tool, Principal: c.caller.Principal.Name, Key: a.Key, Window: a.Sum.Per}, By: a.By}
}
