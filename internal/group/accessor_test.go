package group_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// TestEachGroupBindsOneAccessor: a grant of one group gives a call one accessor
// that does not merely refuse, and no field of a call is ever nil.
func TestEachGroupBindsOneAccessor(t *testing.T) {
	bound := func(g *sallyport.Grant) map[string]reflect.Type {
		s, err := scoped.New("tool", g, backends(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		var c sallyport.Call
		if _, err := s.Bind(t.Context(), &c, scoped.Turn{}, nil); err != nil {
			t.Fatal(err)
		}
		types := map[string]reflect.Type{}
		v := reflect.ValueOf(c)
		for i := range v.NumField() {
			if v.Field(i).Kind() != reflect.Interface {
				continue
			}
			name := v.Type().Field(i).Name
			if v.Field(i).IsNil() {
				t.Errorf("the accessor %s is nil", name)
				continue
			}
			types[name] = v.Field(i).Elem().Type()
		}
		return types
	}
	refusing := bound(&sallyport.Grant{})
	if len(refusing) != len(group.All()) {
		t.Errorf("a call has %d accessors, the table %d groups", len(refusing), len(group.All()))
	}
	all := reflect.ValueOf(granted(t, full(t))).Elem()
	for i := range all.NumField() {
		if name := all.Type().Field(i).Name; name != "Dropped" {
			var one sallyport.Grant
			reflect.ValueOf(&one).Elem().Field(i).Set(all.Field(i))
			var changed []string
			for accessor, is := range bound(&one) {
				if is != refusing[accessor] {
					changed = append(changed, accessor)
				}
			}
			if len(changed) != 1 {
				t.Errorf("a grant of %s gives the accessors %v, want one", name, changed)
			}
		}
	}
}

// TestEachAccessorIsRecordedForTools: the calls of scopedtest tell what a tool
// used of every group.
func TestEachAccessorIsRecordedForTools(t *testing.T) {
	c := reflect.ValueOf(*scopedtest.NewCall(t, &scopedtest.Options{Capabilities: *full(t)}))
	for i := range c.NumField() {
		if f := c.Field(i); f.Kind() == reflect.Interface && !strings.Contains(f.Elem().Type().String(), "scopedtest.") {
			t.Errorf("the accessor %s is not recorded", c.Type().Field(i).Name)
		}
	}
}
