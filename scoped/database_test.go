package scoped_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestDatabases(t *testing.T) {
	t.Parallel()
	for _, mode := range []sallyport.AccessMode{"", sallyport.ModeRead, sallyport.ModeWrite} {
		var asked []scopedtest.Queried
		backend := &scopedtest.Databases{Play: func(q scopedtest.Queried) (sallyport.Table, error) {
			asked = append(asked, q)
			return sallyport.Table{Columns: []string{"n"}}, nil
		}}
		g := &sallyport.Grant{
			Database: &sallyport.DatabaseCapability{Connections: []string{"analytics"}, Mode: mode},
			Dropped:  []sallyport.Dropped{{Capability: "database", Item: "billing", Why: "no such connection"}},
		}
		c, _, j := bind(t, g, &sallyport.Backends{Databases: backend})
		if _, err := c.Databases.Query(t.Context(), "analytics", "select ?", []any{1}); err != nil {
			t.Errorf("Query = %v", err)
		}
		_, err := c.Databases.Query(t.Context(), "billing", "select 1", nil)
		if !errors.Is(err, sallyport.ErrNotAvailable) || err.Error() != "connection billing is not in the declared connections" {
			t.Errorf("Query(billing) = %v, want a refusal", err)
		}
		want := sallyport.ModeRead
		if mode == sallyport.ModeWrite {
			want = mode
		}
		if d := cmp.Diff([]scopedtest.Queried{{Connection: "analytics", Mode: want, Query: "select ?", Args: []any{1}}}, asked); d != "" {
			t.Errorf("mode %q: the backend was asked (-want +got):\n%s", mode, d)
		}
		if d := cmp.Diff([]string{"database [analytics] " + string(want) + " on analytics", "refused database [billing] billing is outside the grant: no such connection"}, j.reasons()); d != "" {
			t.Errorf("decisions (-want +got):\n%s", d)
		}
	}
}

// A tool uses a connection once after much that the record does not list.
func TestTheFirstUseOfEachConnectionIsNoted(t *testing.T) {
	t.Parallel()
	g, b := allBackends()
	b.Databases = &scopedtest.Databases{Play: func(scopedtest.Queried) (sallyport.Table, error) { return sallyport.Table{}, nil }}
	g.Database = &sallyport.DatabaseCapability{Connections: []string{"shop", "payroll"}, Mode: sallyport.ModeWrite}
	c, _, j := bind(t, g, b)
	for range 200 {
		_, _ = c.Process.Spawn(t.Context(), "git", nil, nil)
		_, _ = c.Process.Spawn(t.Context(), "rm", nil, nil)
		_, _ = c.Databases.Query(t.Context(), "shop", "select 1", nil)
	}
	_, _ = c.Databases.Query(t.Context(), "payroll", "delete", nil)
	for i := range 500 {
		_, _ = c.Databases.Query(t.Context(), fmt.Sprint("unknown ", i), "select 1", nil)
	}
	got := map[string]int{}
	for _, d := range j.list {
		if d.Capability == "database" {
			got[d.Why]++
		}
	}
	if got["write on shop"] != 1 || got["write on payroll"] != 1 || got["unknown 0 is outside the grant"] != 1 || len(got) != 10 {
		t.Errorf("noted %v, want each declared connection once, and eight that are not", got)
	}
}
