package registry_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store/memory"
)

// named is a database and mail backend whose names stand for what a test says.
type named struct{ target atomic.Pointer[string] }

func (n *named) Query(context.Context, string, sallyport.AccessMode, string, []any) (sallyport.Table, error) {
	return sallyport.Table{}, nil
}

func (n *named) Send(context.Context, string, sallyport.Message) error { return nil }

func (n *named) Target(_ context.Context, name string) (string, error) {
	if t := n.target.Load(); t != nil {
		return *t, nil
	}
	return "", errors.New("not known")
}

func (n *named) lead(to string) { n.target.Store(&to) }

// TestB6_AnApprovalIsForWhatTheNameStoodFor approves a call on one server and
// repeats it when its connection or relay leads to another.
func TestB6_AnApprovalIsForWhatTheNameStoodFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		caps sallyport.Capabilities
		want []string
	}{
		"database": {
			sallyport.Capabilities{Database: &sallyport.DatabaseCapability{Connections: []string{"main", "other"}}},
			[]string{"main: server a", "other: server a"},
		},
		"mail": {sallyport.Capabilities{Mail: &sallyport.MailCapability{To: []string{"*@a.example"}}}, []string{"default: server a"}},
	} {
		t.Run(name, func(t *testing.T) {
			names := &named{}
			names.lead("server a")
			d := newDeskOf(t, asking(nil), memory.NewApprovals(nil), &sallyport.Backends{Databases: names, Mail: names})
			d.hold(func(tool *sallyport.Tool) { tool.Capabilities = tt.caps })
			d.want("", sallyport.CodeApprovalRequired, 0)
			a := d.one()
			if diff := cmp.Diff(tt.want, a.Targets); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			d.decide(a.ID, true, "")
			names.lead("server b")
			d.want("", sallyport.CodeApprovalRequired, 0)
			names.target.Store(nil)
			d.want("", sallyport.CodeApprovalRequired, 0)
			names.lead("server a")
			d.want("", "", 1)
		})
	}
}

// TestB6_ANameThatLeadsElsewhereEndsTheWait exchanges the server while the call
// waits for its decision.
func TestB6_ANameThatLeadsElsewhereEndsTheWait(t *testing.T) {
	t.Parallel()
	names := &named{}
	names.lead("server a")
	d := newDeskOf(t, asking(func(p *sallyport.Personality) { p.Approvals.Wait = time.Hour }), memory.NewApprovals(nil),
		&sallyport.Backends{Databases: names})
	d.hold(func(tool *sallyport.Tool) {
		tool.Capabilities.Database = &sallyport.DatabaseCapability{Connections: []string{"main"}}
	})
	waits := make(chan struct{})
	caller := d.caller()
	caller.Progress = func(sallyport.Progress) { close(waits) }
	go func() {
		<-waits
		a := d.one()
		names.lead("server b")
		d.decide(a.ID, true, "")
	}()
	res := d.Call(t.Context(), caller, sallyport.Request{Tool: "held"})
	if res.Code != sallyport.CodeApprovalRequired || d.ran.Load() != 0 {
		t.Errorf("Call() = %+v after %d runs, want it held", res, d.ran.Load())
	}
}
