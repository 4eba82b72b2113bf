package registry

import (
	"context"
	"errors"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

// approvalUse is an approval that the call uses.
type approvalUse struct {
	id string
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

// used returns what the next record of the call says that it uses up, nil for nothing:
// what the intent does not say.
func (c *call) used() *approvals.Used {
	var ids []string
	for i := range c.uses {
		if u := &c.uses[i]; !u.recorded && approvals.IsRecordable(u.id) && len(ids) < approvals.MaxUsed {
			ids = append(ids, u.id)
		}
	}
	if ids == nil {
		return nil
	}
	return &approvals.Used{Approvals: ids}
}

// noteRecorded notes that the intent says what the call uses up, and is on the disk.
func (c *call) noteRecorded(used *approvals.Used) {
	if used == nil {
		return
	}
	for i := range c.uses {
		c.uses[i].recorded = slices.Contains(used.Approvals, c.uses[i].id)
	}
}

// settleUses returns once the approvals that the call uses are used durably: at once
// for those that the intent says.
func (c *call) settleUses() (err error) {
	for i := range c.uses {
		if u := &c.uses[i]; u.settle != nil {
			err = errors.Join(err, u.settle(u.recorded))
			u.settle = nil
		}
	}
	return err
}

// refuseUnsettled refuses a call whose approval may not count as used after a loss of
// power.
func (c *call) refuseUnsettled(err error) bool {
	c.logFault("approval", err)
	return c.refuse(sallyport.Decision{Step: sallyport.StepIntent, Why: "the use of its approval could not be kept: " + err.Error()},
		sallyport.CodeNotAvailable, "The call was not made: the use of its approval cannot be kept (call "+c.id+")")
}
