package approvals_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/approvals"
)

// overtaken are settings in which something else comes before each count of a run.
type overtaken struct {
	approvals.RuleSettings
	before func()
	counts []string // the names that were written
}

func (o *overtaken) PutIfAbsent(ctx context.Context, name, value string) (string, bool, error) {
	if strings.HasPrefix(name, "approvals.rule_runs.") {
		o.before()
		o.counts = append(o.counts, name)
	}
	return o.RuleSettings.PutIfAbsent(ctx, name, value)
}

// TestARunThatComesAfterTheEndLeavesNoCount revokes a rule while a call takes its
// first run.
func TestARunThatComesAfterTheEndLeavesNoCount(t *testing.T) {
	t.Parallel()
	o := &overtaken{}
	d := newDesk(t, func(d *desk, _ *approvals.RulesOptions) {
		o.RuleSettings = d.settings
		d.settings = o
	})
	r := d.give(d.newCall("held", nil))
	o.before = func() {
		if _, err := d.Revoke(t.Context(), r.ID); err != nil {
			t.Error(err)
		}
	}
	d.wantUse("the call", d.newCall("c", nil), false)
	if len(o.counts) != 1 {
		t.Fatalf("%d counts were written, want 1", len(o.counts))
	}
	if text, ok, err := d.settings.Get(t.Context(), o.counts[0]); ok || err != nil {
		t.Errorf("the count of a rule that is gone = %q, %v, want none", text, err)
	}
}
