package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app/pinning"
)

// TestWhatWasNotPinnedIsNotOld: a lock file that holds no pin of a server has nothing that
// could be as before.
func TestWhatWasNotPinnedIsNotOld(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{pinning.StatePinned: "nothing is new in /d/sallyport.lock\n", pinning.StateUnknown: "nothing was pinned\n"} {
		var out bytes.Buffer
		if err := PrintPinned(&Printer{W: &out}, "/d/sallyport.lock", []pinning.ServerState{{Server: "one", State: state}}, 0); err != nil || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: %q, %v, want %q first", state, &out, err, want)
		}
	}
}
