package app

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// A caller that an earlier configuration admitted gets the rights of now, and a sub-agent
// stays one: what a reload changes gives it no person, and no way around its delegation.
func TestAReloadLeavesASubAgentOne(t *testing.T) {
	t.Parallel()
	callers, err := auth.NewDirectory(t.Context(), []auth.Record{{Name: "ann", Person: true, Permissions: []string{"new"}}}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	next := &Deployment{revision: callers.Revision() + 1}
	for _, name := range []string{"ann", sallyport.LocalPrincipal} {
		for _, delegation := range []string{"", "call"} {
			was := &sallyport.Caller{Principal: sallyport.Principal{Name: name, Person: true, Delegation: delegation, Revision: callers.Revision()}}
			now := next.refreshCaller(t.Context(), callers, was).Principal
			if now.Delegation != delegation || now.Person != (delegation == "") {
				t.Errorf("%s under %q is %+v", name, delegation, now)
			}
			was.Principal.Person = false // its surface is no person's
			if next.refreshCaller(t.Context(), callers, was).Principal.Person {
				t.Errorf("%s under %q becomes a person", name, delegation)
			}
			if name == "ann" && len(now.Permissions) != 1 {
				t.Errorf("%s has the permissions %v, want those of now", name, now.Permissions)
			}
		}
	}
}
