package registry

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/sums"
)

// summedAmount is what a call added to a sum, and when at the earliest.
type summedAmount struct {
	key    sums.Key
	amount *big.Rat
	at     time.Time
}

// checkSums says of each bound over a window whether the call would exceed it. What it
// adds is counted by consumeSums.
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
// since it was checked refuses the call, or holds it. What a later step refuses is taken
// back by takeBackSums.
func (c *call) consumeSums(ctx context.Context) bool {
	for i := range c.amounts {
		a := &c.amounts[i]
		bound := a.Sum.Bound()
		if c.above.has(a.Key + ceiling.WordSum) {
			bound = nil // a person let this call exceed it
		}
		added, err := c.addAmount(ctx, a, bound)
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
		if _, err := c.addAmount(ctx, a, nil); err != nil {
			return c.refuseUnreadCeiling(err)
		}
	}
	return true
}

// addAmount adds an amount of the call to its sum, if that stays within the bound; nil is
// none.
func (c *call) addAmount(ctx context.Context, a *ceiling.Amount, bound *big.Rat) (added bool, err error) {
	s := summedAmount{key: c.sumKey(a), amount: a.Value, at: time.Now()}
	if added, err = c.r.o.Sums.Add(ctx, s.key, s.amount, bound); added {
		c.summed = append(c.summed, s)
	}
	return added, err
}

// takeBackSums takes back what the call was counted for, since its tool did not run. What
// cannot be taken back stays counted.
func (c *call) takeBackSums(ctx context.Context) {
	if len(c.summed) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWait)
	defer cancel()
	for i := range c.summed {
		s := &c.summed[i]
		if err := c.r.o.Sums.TakeBack(ctx, s.key, s.at, s.amount); err != nil {
			c.logFault("sum not taken back", err)
		}
	}
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
