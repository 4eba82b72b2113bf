package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

// approvalUse is an approval that the call uses, or a run of a rule.
type approvalUse struct {
	id  string            // of the approval; empty for a run
	run approvals.RuleRun // the zero value for an approval
	// recorded is true once the intent says it, on the disk.
	recorded bool
	// settle returns once the use is durable, see approvals.Claimer; nil when it is.
	settle func(recorded bool) error
}

// takeApproval takes an approval for the call; ok is false when another one has it.
// Before the intent the use may wait for the disk with that, see settleUses.
func (c *call) takeApproval(ctx context.Context, id string) (ok bool, err error) {
	use := approvalUse{id: id}
	if queue, is := c.r.o.Approvals.(approvals.Claimer); is && !c.intended {
		use.settle, ok, err = queue.Claim(ctx, id)
	} else {
		ok, err = c.r.o.Approvals.Use(ctx, id)
	}
	if ok {
		c.uses = append(c.uses, use)
	}
	return ok, err
}

// takeRun takes a run of a rule for the call, or finds an exception for it, likewise.
func (c *call) takeRun(ctx context.Context, held *sallyport.Approval) (said string, ok bool, err error) {
	if c.r.o.ClaimApprovalRule == nil {
		return c.r.o.UseApprovalRule(ctx, held)
	}
	allowed, ok, err := c.r.o.ClaimApprovalRule(ctx, held)
	if err != nil || !ok {
		return "", false, err
	}
	use := approvalUse{run: allowed.Run, settle: allowed.Settle}
	if use.settle != nil && c.intended {
		if err := use.settle(false); err != nil {
			return "", false, err
		}
		use.settle = nil
	}
	if use.run != (approvals.RuleRun{}) {
		c.uses = append(c.uses, use)
	}
	return allowed.Said, true, nil
}

// used returns what the next record of the call says that it uses up, nil for nothing:
// what the intent does not say.
func (c *call) used() *approvals.Used {
	if len(c.uses) == 0 {
		return nil
	}
	var used approvals.Used
	for i := range c.uses {
		u := &c.uses[i]
		switch {
		case u.recorded, len(used.Approvals)+len(used.Runs) == approvals.MaxUsed:
		case approvals.IsRecordable(u.id):
			used.Approvals = append(used.Approvals, u.id)
		case u.run.IsRecordable():
			used.Runs = append(used.Runs, u.run)
		}
	}
	if !used.IsBounded() {
		return nil // nothing of it can be recorded
	}
	return &used
}

// noteRecorded notes that the intent says what the call uses up, and is on the disk.
func (c *call) noteRecorded(used *approvals.Used) {
	if used == nil {
		return
	}
	for i := range c.uses {
		u := &c.uses[i]
		u.recorded = slices.Contains(used.Approvals, u.id) || slices.Contains(used.Runs, u.run)
	}
}

// settleUses returns once what the call uses is used durably: at once for what the
// intent says.
func (c *call) settleUses() (err error) {
	for i := range c.uses {
		if u := &c.uses[i]; u.settle != nil {
			err = errors.Join(err, u.settle(u.recorded))
			u.settle = nil
		}
	}
	return err
}

// settleKept is settleUses for a call that is answered with a kept result, and has no
// intent: it gets no answer on an approval that another call may use.
func (c *call) settleKept() bool {
	err := c.settleUses()
	if err == nil {
		return true
	}
	c.from = nil
	return c.refuseUnsettled(err)
}

// refuseUnsettled refuses a call whose approval may not count as used after a loss of
// power.
func (c *call) refuseUnsettled(err error) bool {
	c.logFault("approval", err)
	return c.refuse(sallyport.Decision{Step: sallyport.StepIntent, Why: "the use of its approval could not be kept: " + err.Error()},
		sallyport.CodeNotAvailable, "The call was not made: the use of its approval cannot be kept (call "+c.id+")")
}
