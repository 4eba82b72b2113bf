package scoped_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// refusalNoter is what the accessor of processes can do beside its interface.
type refusalNoter interface {
	NoteRefusals(child sallyport.Child, sinceStart bool) (done func())
}

// refusedChild is a child that says which hosts it was refused.
type refusedChild struct {
	sallyport.Child
	hosts []sallyport.HostUse
}

func (c *refusedChild) RefusedHosts() []sallyport.HostUse { return slices.Clone(c.hosts) }

// TestARunningChildIsRefusedInTheRecordOfACall has calls follow a child that an earlier
// call started: the record of each says what the child was refused as it ran.
func TestARunningChildIsRefusedInTheRecordOfACall(t *testing.T) {
	t.Parallel()
	child := &refusedChild{hosts: []sallyport.HostUse{{Host: "old.example", Port: 443, Connections: 2, Why: "is not in the declared allowedHosts"}}}
	for _, tt := range []struct {
		name       string
		sinceStart bool
		during     []sallyport.HostUse
		want       []string
	}{
		{"since its start", true, nil, []string{"refused network [old.example] a child of a server was refused 2 times: is not in the declared allowedHosts"}},
		{"nothing", false, nil, nil},
		{
			"one that is new and one again", false,
			[]sallyport.HostUse{
				{Host: "old.example", Port: 443, Connections: 5, Why: "is not in the declared allowedHosts"},
				{Host: "new.example", Port: 8443, Connections: 1, Why: "is not in the declared allowedHosts"},
			},
			[]string{
				"refused network [old.example] a child of a server was refused 3 times: is not in the declared allowedHosts",
				"refused network [new.example:8443] a child of a server was refused 1 times: is not in the declared allowedHosts",
			},
		},
	} {
		c, _, j := bind(t, gitGrant(), gitBackends(&scopedtest.Runner{}))
		done := c.Process.(refusalNoter).NoteRefusals(child, tt.sinceStart)
		if tt.during != nil {
			child.hosts = tt.during
		}
		done()
		if d := cmp.Diff(tt.want, j.reasons()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

// TestTheCommandOfACall is that of the child which the call started or followed last.
func TestTheCommandOfACall(t *testing.T) {
	t.Parallel()
	s, err := scoped.New("tool", gitGrant(), gitBackends(&scopedtest.Runner{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	bindCall := func() (*sallyport.Call, *scoped.Binding) {
		c := newCall()
		outlive := func(string, bool, func(error), func(sallyport.NetworkGrant) bool) func() { return func() {} }
		b, err := s.Bind(t.Context(), c, scoped.Turn{Outlive: outlive}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c, b
	}
	first, binding := bindCall()
	if got := binding.Command(); got != nil {
		t.Errorf("before any child: Command() = %q, want none", got)
	}
	child, err := first.Process.Start(t.Context(), "git", []string{"status", "-s"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { child.Stop(time.Second) })
	second, later := bindCall()
	second.Process.(refusalNoter).NoteRefusals(child, false)()
	for _, b := range []*scoped.Binding{binding, later} {
		if got, want := b.Command(), []string{"git", "status", "-s"}; !slices.Equal(got, want) {
			t.Errorf("Command() = %q, want %q", got, want)
		}
	}
	if got := (*scoped.Binding)(nil).Command(); got != nil {
		t.Errorf("of a call without a grant: Command() = %q, want none", got)
	}
}
