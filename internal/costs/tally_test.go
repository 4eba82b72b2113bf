package costs_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/costs"
)

func TestCostsAddUpExactly(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 31, 23, 59, 0, 0, time.UTC)
	for _, sessions := range []bool{false, true} {
		tally := costs.Tally{Sessions: sessions}
		for range 10 {
			tally.Add(day, "ann", "one", 0.1)
		}
		tally.Add(day, "ann", "two", 0.5)
		tally.Add(day.Add(time.Minute), "ann", "one", 0.25)
		tally.Add(day, "ben", "one", 0)
		tally.Add(day, "ben", "one", -1)
		want := []costs.Row{{Day: "2026-01-31", Principal: "ann", Calls: 11, USD: 1.5}, {Day: "2026-02-01", Principal: "ann", Calls: 1, USD: 0.25}}
		if sessions {
			want = []costs.Row{
				{Day: "2026-01-31", Principal: "ann", Session: "one", Calls: 10, USD: 1},
				{Day: "2026-01-31", Principal: "ann", Session: "two", Calls: 1, USD: 0.5},
				{Day: "2026-02-01", Principal: "ann", Session: "one", Calls: 1, USD: 0.25},
			}
		}
		if diff := cmp.Diff(want, tally.Rows()); diff != "" {
			t.Errorf("sessions %t (-want +got):\n%s", sessions, diff)
		}
		if got := costs.Text(tally.Total()); got != "1.75" {
			t.Errorf("Total() = %s", got)
		}
	}
}
