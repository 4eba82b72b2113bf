// Package costs counts what calls cost, by session, by role and by principal, and says
// when a budget is used up.
//
// A budget is exact over several processes for tools that declare the most that a call
// costs: that much is set aside before the call, and what it did not cost is given back
// after it. A tool that declares nothing is refused once its budget is used up; what such
// calls cost together while they run may exceed it.
package costs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"time"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/sums"
)

const (
	// Day is the window of what counts as spent in a day.
	Day = 24 * time.Hour
	// SessionSpan is how long what a session spent counts.
	SessionSpan = 7 * Day
	// shards is how many sums the sessions of a principal share, so that agents
	// cannot make sums without end by naming new sessions.
	shards = 64
	// MaxUSD bounds an amount: no tool costs more, and no budget is larger.
	MaxUSD = 1e9
)

// Spender is whose cost a call is.
type Spender struct {
	// Principal is the name of the caller, Role that of its personality, which may be
	// empty, and Session the id of the conversation.
	Principal, Role, Session string
}

// Budget bounds what is spent, in US dollars. A nil bound is none.
type Budget struct {
	// Session bounds what a session spends, Day what is spent in any 24 hours.
	Session, Day *big.Rat
	// Source is where the budget stands, as file:line:column; it may be empty.
	Source string
}

// Budgets are the bounds of a call: that of its principal over all roles, and that of its
// role, which counts for each principal by itself. The zero value bounds nothing.
type Budgets struct {
	// Principal bounds what the principal spends under all roles.
	Principal Budget
	// Role bounds what the principal spends under this role.
	Role Budget
}

// Totals is what was spent, in US dollars.
type Totals struct {
	// Session is what the session spent within [SessionSpan], Principal and Role what
	// the principal spent within a day, under all roles and under this one.
	Session, Principal, Role *big.Rat
}

// Book keeps what was spent. It is safe for concurrent use.
type Book struct {
	sums *sums.Book
	now  func() time.Time
}

// New returns the book of a state. A nil now means time.Now.
func New(s *sums.Book, now func() time.Time) *Book {
	if now == nil {
		now = time.Now
	}
	return &Book{s, now}
}

// A line is one total that a call adds to, and what bounds it.
type line struct {
	key    sums.Key
	bound  *big.Rat
	whose  string
	source string
	aside  *big.Rat // what is set aside; nil where that is nothing
}

// lines returns the totals of a spender. The bound of a session is the smaller one of
// those of the principal and of the role.
func (s Spender) lines(b *Budgets) []line {
	session := digest.Text(s.Session)
	of := func(window time.Duration, kind, more string) sums.Bound {
		return sums.Bound{Principal: s.Principal, Key: "cost\x00" + kind + "\x00" + more, Window: window}
	}
	narrow := &b.Principal
	if smallerOf(narrow.Session, b.Role.Session) != narrow.Session {
		narrow = &b.Role
	}
	all := []line{
		{key: sums.Key{Bound: of(SessionSpan, "session", shardOf(session)), By: session}, bound: narrow.Session, whose: "this session", source: narrow.Source},
		{key: sums.Key{Bound: of(Day, "day", "")}, bound: b.Principal.Day, whose: "principal " + s.Principal, source: b.Principal.Source},
	}
	if s.Role != "" {
		all = append(all, line{key: sums.Key{Bound: of(Day, "role", s.Role)}, bound: b.Role.Day, whose: "principal " + s.Principal + " as " + s.Role, source: b.Role.Source})
	}
	return all
}

func shardOf(sessionDigest string) string {
	n, _ := strconv.ParseUint(sessionDigest[:2], 16, 8)
	return strconv.FormatUint(n%shards, 10)
}

func smallerOf(a, b *big.Rat) *big.Rat {
	if a == nil || b != nil && b.Cmp(a) < 0 {
		return b
	}
	return a
}

// Totals returns what was spent.
func (b *Book) Totals(ctx context.Context, s Spender) (t Totals, err error) {
	into := []**big.Rat{&t.Session, &t.Principal, &t.Role}
	t.Role = new(big.Rat)
	for i, l := range s.lines(&Budgets{}) {
		total, err := b.sums.Total(ctx, l.key)
		if err != nil {
			return Totals{}, err
		}
		*into[i] = total
	}
	return t, nil
}

// UsedUpError says which budget has no room for a call.
type UsedUpError struct {
	// Bound is the budget in US dollars.
	Bound *big.Rat
	// Per is its window.
	Per time.Duration
	// Whose says what the budget is of.
	Whose string
	// Source is where the budget stands; it may be empty.
	Source string
	// Wait is how long it takes until there is room; -1 means that there never is.
	Wait time.Duration
}

// Error says whose budget is used up.
func (e *UsedUpError) Error() string {
	return fmt.Sprintf("the budget of %s USD of %s is used up", Text(e.Bound), e.Whose)
}

// Reservation is what was set aside for a call.
type Reservation struct {
	lines []line
	at    time.Time
}

// Open returns a reservation of nothing, for a call whose cost is only counted.
func (b *Book) Open(s Spender) *Reservation {
	return &Reservation{lines: s.lines(&Budgets{}), at: b.now()}
}

// Reserve sets aside the most that a call costs; nil means that this is not known. Where a
// budget has no room for it, the error is an [*UsedUpError] and nothing is set aside.
func (b *Book) Reserve(ctx context.Context, s Spender, budgets *Budgets, most *big.Rat) (*Reservation, error) {
	r := &Reservation{at: b.now()}
	for _, l := range s.lines(budgets) {
		added, err := b.addTo(ctx, &l, most)
		if err == nil && !added {
			err = b.usedUp(ctx, &l, most)
		}
		if err != nil {
			return nil, errors.Join(err, b.Settle(ctx, r, 0))
		}
		r.lines = append(r.lines, l)
	}
	return r, nil
}

// addTo sets an amount aside where there is a budget. An unknown one needs that there is
// anything left.
func (b *Book) addTo(ctx context.Context, l *line, most *big.Rat) (bool, error) {
	switch {
	case l.bound == nil:
		return true, nil
	case most != nil:
		l.aside = most
		return b.sums.Add(ctx, l.key, most, l.bound)
	}
	total, err := b.sums.Total(ctx, l.key)
	return err == nil && total.Cmp(l.bound) < 0, err
}

// usedUp returns the refusal of a budget.
func (b *Book) usedUp(ctx context.Context, l *line, most *big.Rat) error {
	if most == nil {
		most = new(big.Rat)
	}
	wait, err := b.sums.Wait(ctx, l.key, most, l.bound)
	if err != nil {
		return err
	}
	return &UsedUpError{l.bound, l.key.Bound.Window, l.whose, l.source, wait}
}

// Settle replaces what was set aside by what the call cost in US dollars. An amount that is
// negative or not a number counts as 0.
func (b *Book) Settle(ctx context.Context, r *Reservation, cost float64) (err error) {
	is := Amount(cost)
	for i := range r.lines {
		l := &r.lines[i]
		rest := new(big.Rat).Set(is)
		if l.aside != nil {
			rest.Sub(rest, l.aside)
		}
		switch rest.Sign() {
		case 1:
			_, e := b.sums.Add(ctx, l.key, rest, nil)
			err = cmp.Or(err, e)
		case -1:
			err = cmp.Or(err, b.sums.TakeBack(ctx, l.key, r.at, rest.Neg(rest)))
		}
	}
	return err
}

// Amount returns a cost as it counts: exactly the decimal number that is printed for it. A
// cost that is negative or not a number is 0, and none is more than [MaxUSD].
func Amount(cost float64) *big.Rat {
	if !(cost > 0) {
		return new(big.Rat)
	}
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(math.Min(cost, MaxUSD), 'g', -1, 64))
	return exact
}

// None reports whether nothing is bounded.
func (b *Budgets) None() bool {
	return b.Principal.Session == nil && b.Principal.Day == nil && b.Role.Session == nil && b.Role.Day == nil
}

// Text prints an amount with at most six decimals.
func Text(amount *big.Rat) string {
	f, _ := amount.Float64()
	return strconv.FormatFloat(math.Round(f*1e6)/1e6, 'f', -1, 64)
}
