package sandbox

import (
	"os"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestAttacksHoldForAnOrdinaryUser makes the attacks of docs/attacks.md on a gate
// that is not root; others here do so for A3, A5, A11, H2 and H3. Floods and working
// days take long and need nothing of root.
func TestAttacksHoldForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	needs.LongRun(t, "the attacks as an ordinary user, too")
	asNobody(t, "^Test(A(1|7|8|9|10|13|23)_|A20_(Conf|Direct)|A12_AnEmpty|C5_)", "PATH="+os.Getenv("PATH"))
}
