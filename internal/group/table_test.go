package group_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// backends returns something for every group.
func backends(t *testing.T) *sallyport.Backends {
	return &sallyport.Backends{
		Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()},
		Secrets: scopedtest.Secrets{}, KV: &scopedtest.KV{}, Process: &scopedtest.Runner{}, Databases: &scopedtest.Databases{},
		Mail: &scopedtest.Outbox{}, Attachments: scopedtest.Attachments{},
	}
}

// only returns a declaration that has one group of a full one.
func only(t *testing.T, g *group.Group) *sallyport.Capabilities {
	t.Helper()
	c := &sallyport.Capabilities{}
	reflect.ValueOf(g.Field(c)).Elem().Set(reflect.ValueOf(g.Field(full(t))).Elem())
	return c
}

// events keeps what a registry records.
type events struct{ list []*audit.Event }

func (e *events) Record(_ context.Context, event *audit.Event) error {
	e.list = append(e.list, event)
	return nil
}

// roles is a set of one personality.
type roles struct{ p *sallyport.Personality }

func (r roles) Personality(string) (*sallyport.Personality, bool) { return r.p, true }

// gate returns a registry with one tool of a declaration.
func gate(t *testing.T, c *sallyport.Capabilities, b *sallyport.Backends, r registry.Recorder) *registry.Registry {
	t.Helper()
	g, err := registry.New(b, &registry.Options{Recorder: r, Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	err = g.Register(sallyport.Tool{
		Name: "tool", Capabilities: *c,
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("done"), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// caller is one without limits.
func caller() *sallyport.Caller {
	return &sallyport.Caller{Principal: sallyport.Principal{Name: sallyport.LocalPrincipal}, Platform: sallyport.PlatformCLI}
}

// granted returns the grant of a declaration that nothing bounds.
func granted(t *testing.T, c *sallyport.Capabilities) *sallyport.Grant {
	t.Helper()
	x, err := gate(t, c, backends(t), nil).Explain(caller(), "tool")
	if err != nil || x.Grant == nil || len(x.Grant.Dropped) > 0 {
		t.Fatalf("Explain = %+v, %v, want a grant of everything", x, err)
	}
	return x.Grant
}

// TestEveryFieldOfADeclarationHasARow: the rows are the fields, in order and
// with their spelling.
func TestEveryFieldOfADeclarationHasARow(t *testing.T) {
	c := full(t)
	v := reflect.ValueOf(c).Elem()
	if len(group.All()) != v.NumField() {
		t.Fatalf("the table has %d rows, the declaration %d fields", len(group.All()), v.NumField())
	}
	for i, g := range group.All() {
		if g.Field(c) != v.Field(i).Addr().Interface() {
			t.Errorf("row %d, %s, has another field than %s", i, g.Name, v.Type().Field(i).Name)
		}
		tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if g.Name != tag {
			t.Errorf("row %d is called %s, the field is spelled %s", i, g.Name, tag)
		}
		text, err := json.Marshal(g.Field(c))
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if json.Unmarshal(text, &object) != nil {
			object = nil
		}
		keys := slices.Sorted(slices.Values(g.Keys))
		for _, key := range keys {
			delete(object, key)
		}
		if (g.Keys == nil) != (text[0] == '[') || len(object) > 0 {
			t.Errorf("%s has the keys %v, which leave out %v of %s", g.Name, g.Keys, object, text)
		}
	}
}

// TestEachGroupHasAFieldOfEveryStruct: what is declared, granted and wired of a
// group is told apart from that of every other one.
func TestEachGroupHasAFieldOfEveryStruct(t *testing.T) {
	all := *granted(t, full(t))
	for _, of := range []struct {
		what  reflect.Value
		apart []string // fields that are of no group
		holds func(*group.Group, reflect.Value) bool
	}{
		{reflect.ValueOf(*full(t)), nil, func(g *group.Group, v reflect.Value) bool {
			return g.Declared(v.Addr().Interface().(*sallyport.Capabilities))
		}},
		{reflect.ValueOf(all), []string{"Dropped"}, func(g *group.Group, v reflect.Value) bool {
			return g.Granted(v.Addr().Interface().(*sallyport.Grant))
		}},
		{reflect.ValueOf(*backends(t)), []string{"Personalities", "Places"}, func(g *group.Group, v reflect.Value) bool {
			return g.Wired != nil && g.Wired(v.Addr().Interface().(*sallyport.Backends))
		}},
	} {
		for i := range of.what.NumField() {
			name := of.what.Type().Field(i).Name
			if slices.Contains(of.apart, name) {
				continue
			}
			one := reflect.New(of.what.Type()).Elem()
			one.Field(i).Set(of.what.Field(i))
			var rows []string
			for k := range group.All() {
				if g := &group.All()[k]; of.holds(g, one) {
					rows = append(rows, g.Name)
				}
			}
			if len(rows) != 1 {
				t.Errorf("%s.%s alone is held by the groups %v, want one", of.what.Type().Name(), name, rows)
			}
		}
	}
}

func TestACloneSharesNothing(t *testing.T) {
	c := full(t)
	copied := group.Clone(c)
	if d := cmp.Diff(*c, copied); d != "" {
		t.Errorf("Clone (-want +got):\n%s", d)
	}
	normal := group.Normal(c)
	for _, other := range []*sallyport.Capabilities{&copied, &normal} {
		if at := shared(reflect.ValueOf(*c), reflect.ValueOf(*other), ""); len(at) > 0 {
			t.Errorf("the copy shares %v", at)
		}
	}
}

// TestADeclarationIsReadBack: every field that has a spelling is decoded, and
// no key beside.
func TestADeclarationIsReadBack(t *testing.T) {
	c := full(t)
	c.Process.Programs = nil // has no spelling
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var d definition.Decoder
	got := d.Capabilities("/capabilities", tree)
	if diff := cmp.Diff(*c, got); diff != "" || len(d.Faults) > 0 {
		t.Errorf("Capabilities: faults %v (-want +got):\n%s", d.Faults, diff)
	}
}

// TestEveryFieldReachesGrantRecordAndExplanation: what a declaration says is in
// the grant, in the record of a call and in the explanation.
func TestEveryFieldReachesGrantRecordAndExplanation(t *testing.T) {
	c := full(t)
	var kept events
	g := gate(t, c, backends(t), &kept)
	x, err := g.Explain(caller(), "tool")
	if err != nil {
		t.Fatal(err)
	}
	if res := g.Call(t.Context(), caller(), sallyport.Request{Tool: "tool"}); !res.OK {
		t.Fatalf("Call = %+v", res)
	}
	for _, of := range []struct {
		what string
		v    any
	}{{"grant", x.Grant}, {"explanation", x}, {"record", kept.list[0].Grant}} {
		text, err := json.Marshal(of.v)
		if err != nil {
			t.Fatal(err)
		}
		for path, sample := range texts(t, c) {
			switch path {
			case "Storage.Kind": // has one value only
				continue
			case "Storage.TTLSecondsDefault":
				sample = "60000000000"
			}
			if !strings.Contains(string(text), sample) {
				t.Errorf("the %s does not mention %s, %q", of.what, path, sample)
			}
		}
	}
}

// TestAnEmptyCeilingGrantsNothing: every list that a personality can bound is
// empty under one that allows nothing, and the reason is told.
func TestAnEmptyCeilingGrantsNothing(t *testing.T) {
	nothing := &sallyport.Personality{Name: "nothing", Network: &sallyport.NetworkPolicy{Allow: []string{}}}
	v := reflect.ValueOf(nothing).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); v.Type().Field(i).Name {
		case "Toolset", "MCPServers", "Plugins": // are about which tools are seen
		default:
			if f.Kind() == reflect.Slice {
				f.Set(reflect.MakeSlice(f.Type(), 0, 0))
			}
		}
	}
	b := backends(t)
	b.Personalities = roles{nothing}
	who := caller()
	who.Personality = nothing.Name
	x, err := gate(t, full(t), b, nil).Explain(who, "tool")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range group.All() {
		for _, r := range g.Reaches {
			if r.Ceiling.Key == "" {
				continue
			}
			if left := r.Granted(x.Grant); len(left) > 0 {
				t.Errorf("%s: %v is granted under a ceiling that allows nothing", r.Name, left)
			}
			told := func(d sallyport.Dropped) bool { return d.Capability == r.Name && d.Why != "" }
			if !slices.ContainsFunc(x.Grant.Dropped, told) {
				t.Errorf("%s: nothing says why it is not granted", r.Name)
			}
		}
	}
}

// TestAGroupWithoutABackendIsRefused at the gate and, as the last line, where
// the grant is compiled.
func TestAGroupWithoutABackendIsRefused(t *testing.T) {
	for i := range group.All() {
		g := &group.All()[i]
		if g.Wired == nil {
			continue
		}
		c := only(t, g)
		if g.Name == "process" {
			c.Process.ExecFrom = nil // needs files
		}
		if g.Name == "fs_reach" {
			c.FSReach.Mode = "" // needs processes
		}
		var kept events
		res := gate(t, c, nil, &kept).Call(t.Context(), caller(), sallyport.Request{Tool: "tool"})
		if res.Code != sallyport.CodeNotAvailable || kept.list[0].Stage != sallyport.StepBackends {
			t.Errorf("%s: Call without a backend = %+v at %s, want a refusal at %s", g.Name, res, kept.list[0].Stage, sallyport.StepBackends)
		}
		_, err := scoped.New("tool", granted(t, c), nil)
		if e, ok := err.(*sallyport.Error); !ok || e.Operation != g.Name {
			t.Errorf("%s: New without a backend = %v, want an error that names it", g.Name, err)
		}
	}
}

// TestALostGroupEndsWhatRuns: a grant that has a group no more than in part is
// told apart. Hosts can be taken from what runs, so that it need not end.
func TestALostGroupEndsWhatRuns(t *testing.T) {
	was := granted(t, full(t))
	if why := group.Lost(was, was); why != "" {
		t.Errorf("Lost of equal grants = %q, want nothing", why)
	}
	v := reflect.ValueOf(was).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name == "Dropped" || name == "Network" {
			continue
		}
		now := *was
		reflect.ValueOf(&now).Elem().Field(i).SetZero()
		if group.Lost(was, &now) == "" {
			t.Errorf("Lost does not see that %s is gone", name)
		}
	}
}

// TestALostItemEndsWhatRuns: it is not enough that the group is still there.
func TestALostItemEndsWhatRuns(t *testing.T) {
	was := granted(t, full(t))
	for i, l := range leavesOf(reflect.ValueOf(full(t)).Elem(), "", false) {
		if l.path == "Network.AllowedHosts" || l.path == "Storage.Kind" || l.v.Kind() == reflect.Bool {
			continue
		}
		c := full(t)
		leavesOf(reflect.ValueOf(c).Elem(), "", false)[i].set(t, 1)
		if group.Lost(was, granted(t, c)) == "" {
			t.Errorf("Lost does not see that %s is another one", l.path)
		}
	}
}

// TestTheLockSeesEveryField changes one field of a server's declaration at a
// time: each is a change that a person has to accept.
func TestTheLockSeesEveryField(t *testing.T) {
	pinned := func(c *sallyport.Capabilities) *lock.File {
		o := &lock.Offer{Launch: lock.Launch{Transport: lock.TransportStdio, Command: []string{"server"}, Capabilities: *c}}
		s, _, err := lock.Take("server", o, nil)
		if err != nil {
			t.Fatal(err)
		}
		return &lock.File{Servers: map[string]lock.Server{"server": s}}
	}
	was := pinned(full(t))
	if changes := lock.Diff(was, pinned(full(t))); len(changes) > 0 {
		t.Fatalf("Diff of equal declarations = %v", changes)
	}
	for i, l := range leavesOf(reflect.ValueOf(full(t)).Elem(), "", false) {
		if l.path == "Process.Programs" { // the lock pins programs by their digests
			continue
		}
		c := full(t)
		l = leavesOf(reflect.ValueOf(c).Elem(), "", false)[i]
		if l.set(t, 1); l.v.Kind() == reflect.Bool {
			l.v.SetBool(true)
		}
		named := func(c lock.Change) bool { return c.Rule != lock.RuleCapabilityWords }
		if changes := lock.Diff(was, pinned(c)); !slices.ContainsFunc(changes, named) {
			t.Errorf("a change of %s gives the lock %v, want one that names it", l.path, changes)
		}
	}
}
