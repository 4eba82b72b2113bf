package approvals_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/approvals"
)

func TestWhatARecordMayHold(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", approvals.MaxUsedID)
	for id, want := range map[string]bool{
		"01hf7yat31m4z2q8-_.Z": true, long: true, long + "a": false, "": false, `a"`: false, "a\\": false, "ä": false, "a b": false, "a\x00": false,
	} {
		if got := approvals.IsRecordable(id); got != want {
			t.Errorf("IsRecordable(%q) = %t", id, got)
		}
	}
	for want, ids := range map[bool][][]string{
		true:  {{"a"}, {"a", "b", "c", "d"}},
		false: {nil, {"a", "b", "c", "d", "e"}, {"a", ""}},
	} {
		for _, list := range ids {
			if u := (approvals.Used{Approvals: list}); u.IsBounded() != want {
				t.Errorf("IsBounded(%q) = %t", list, !want)
			}
		}
	}
}
