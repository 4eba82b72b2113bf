package output

import (
	"strconv"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/text"
)

// DefaultBudget is the number of code points that the values of a batch may
// have together when nothing else is configured.
const DefaultBudget = 80_000

// NoLimit says for [Budget] that a call has no bound of its own.
const NoLimit = -1

// Trim cuts text to at most limit code points and then appends
// "\n[truncated -- N chars total]", N being the full length; it reports
// whether it did. The marker comes on top of the limit. A limit below 0 is
// taken as 0, and an empty text is never cut. A [Clean] text stays one.
func Trim[T string | Clean](whole T, limit int) (T, bool) {
	short := text.FirstChars(string(whole), max(limit, 0))
	if len(short) == len(whole) {
		return whole, false
	}
	total := strconv.Itoa(utf8.RuneCountInString(string(whole)))
	return T(short + "\n[truncated -- " + total + " chars total]"), true
}

// Budget returns what one of calls calls may return of a batch's total, in
// code points: an equal share rounded down, and no more than most. A negative
// most means no bound of its own; calls below 1 count as 1, a negative total
// as 0.
func Budget(total, calls, most int) int {
	share := max(total, 0) / max(calls, 1)
	if most < 0 {
		return share
	}
	return min(share, most)
}
