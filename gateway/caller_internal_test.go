package gateway

import (
	"net/http"
	"slices"
	"testing"

	"github.com/sallyport/sallyport"
)

// A sub-agent calls by the name of its principal, and uses no session and no task that the
// principal opened, nor the principal one of its.
func TestASubAgentHasSessionsOfItsOwn(t *testing.T) {
	t.Parallel()
	ann, sub := sallyport.Principal{Name: "ann"}, sallyport.Principal{Name: "ann", Delegation: "one"}
	other := sallyport.Principal{Name: "ann", Delegation: "two"}
	all := []sallyport.Principal{ann, sub, other}
	for _, opener := range all {
		set := &sessionSet{open: map[string]*httpSession{"s": {principal: opener}}}
		for _, caller := range all {
			want := http.StatusForbidden
			if caller.Delegation == opener.Delegation {
				want = 0
			}
			if _, status := set.findSession("s", caller); status != want {
				t.Errorf("a session of %+v for %+v: status %d, want %d", opener, caller, status, want)
			}
		}
	}
	words := func(p sallyport.Principal) []string {
		return (&askableClient{caller: &sallyport.Caller{Principal: p}}).boundWords()
	}
	if slices.Equal(words(ann), words(sub)) || slices.Equal(words(sub), words(other)) {
		t.Error("the state between two rounds is not bound to the sub-agent")
	}
}
