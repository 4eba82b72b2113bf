package callid_test

import (
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/callid"
)

// TestIDsSortByTime, and the numbers that are read from them as they do.
func TestIDsSortByTime(t *testing.T) {
	t.Parallel()
	now, last, lastNumber := time.Now(), "", int64(0)
	for range 100 {
		id := callid.New(now)
		number, ok := callid.ReadTime(id)
		if !ok || number>>12 != now.UnixMilli() {
			t.Errorf("ReadTime(%s) = %d, %v, want the milliseconds %d", id, number, ok, now.UnixMilli())
		}
		if id <= last || number <= lastNumber {
			t.Errorf("%s (%d) does not follow %s (%d)", id, number, last, lastNumber)
		}
		now, last, lastNumber = now.Add(time.Millisecond), id, number
	}
}

func TestOtherIDsHaveNoTime(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"", "call7", "06h1x9jeynw3w3ddgrw2wqv", "06h1x9jeynw3w3ddgrw2wqv30", "06H1X9JEYNW3W3DDGRW2WQV3",
		"06h1x9jeyni3w3ddgrw2wqv3", "000000000000w3ddgrw2wqv3",
	} {
		if number, ok := callid.ReadTime(id); ok {
			t.Errorf("ReadTime(%q) = %d, want none", id, number)
		}
	}
}
