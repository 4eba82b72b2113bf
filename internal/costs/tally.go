package costs

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"time"
)

// Row is what a principal spent on a day.
type Row struct {
	// Day is the day in UTC, as 2026-01-31.
	Day string `json:"day"`
	// Principal is the name of the caller.
	Principal string `json:"principal"`
	// Session is the id of the conversation; empty where sessions are added up.
	Session string `json:"session,omitempty"`
	// Calls is the number of calls that cost something.
	Calls int `json:"calls"`
	// USD is their sum in US dollars.
	USD float64 `json:"cost_usd"`
}

// Tally adds up recorded costs. The zero value is empty.
type Tally struct {
	// Sessions tells sessions apart.
	Sessions bool

	sums map[Row]*tallied // by a row without sums
	all  big.Rat
}

type tallied struct {
	calls int
	usd   big.Rat
}

// Add adds what a call cost. One that cost nothing is left out.
func (t *Tally) Add(at time.Time, principal, session string, cost float64) {
	usd := Amount(cost)
	if usd.Sign() == 0 {
		return
	}
	key := Row{Day: at.UTC().Format(time.DateOnly), Principal: principal}
	if t.Sessions {
		key.Session = session
	}
	if t.sums == nil {
		t.sums = map[Row]*tallied{}
	}
	if t.sums[key] == nil {
		t.sums[key] = &tallied{}
	}
	t.sums[key].calls++
	t.sums[key].usd.Add(&t.sums[key].usd, usd)
	t.all.Add(&t.all, usd)
}

// Rows returns the sums by day, principal and session.
func (t *Tally) Rows() []Row {
	rows := slices.SortedFunc(maps.Keys(t.sums), func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Session, b.Session))
	})
	for i := range rows {
		of := t.sums[rows[i]]
		rows[i].Calls = of.calls
		rows[i].USD, _ = of.usd.Float64()
	}
	return rows
}

// Total returns the sum of all.
func (t *Tally) Total() *big.Rat { return new(big.Rat).Set(&t.all) }
