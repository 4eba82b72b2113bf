package approvals_test

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

func TestSelectNeedsOneCall(t *testing.T) {
	t.Parallel()
	list := []sallyport.Approval{{ID: "06gzxm32y72h1111"}, {ID: "06gzxm32y72h2222"}, {ID: "06gzxm32y72h22223"}}
	for id, want := range map[string]string{
		"06gzxm32y72h1": "06gzxm32y72h1111", "06gzxm32y72h2222": "06gzxm32y72h2222", "06gzxm32y72h": "", "06gzxm3": "", "": "", "07gzxm32y72h": "",
	} {
		got, err := approvals.Select(list, []string{id})
		if (err == nil) != (want != "") || err == nil && got[0].ID != want {
			t.Errorf("Select(%q) = %v, %v, want %q", id, got, err, want)
		}
	}
}
