package known_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/known"
)

// answers is a query whose answer a test sets.
type answers struct {
	mu    sync.Mutex
	list  []string
	err   error
	takes time.Duration
	asked int
	told  []string
}

func (a *answers) set(list []string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list, a.err = list, err
}

func (a *answers) read(ctx context.Context) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	select {
	case <-time.After(a.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return a.list, a.err
}

func (a *answers) tell(err error) { a.told = append(a.told, fmt.Sprint(err)) }

// query returns sets of which payees has a query, beside a list.
func (a *answers) query(t *testing.T, grown known.Grown) *known.Sets {
	t.Helper()
	s := readSets(t, map[string]known.Source{
		"payees": {Kind: effect.Account, List: []string{"11111111"}, Query: &known.Query{Read: a.read, Refresh: time.Minute, Tell: a.tell}},
		"others": {Kind: effect.Account, List: []string{"22222222"}},
	}, grown)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestAQueryIsReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []string{"DE02 1203"}}
		s := a.query(t, nil)
		defer s.Close()
		time.Sleep(time.Hour)
		if a.asked != 0 {
			t.Fatalf("the query was read %d times before anything asked", a.asked)
		}
		has(t, s, "payees", "de021203", true)
		has(t, s, "payees", "11111111", true)
		has(t, s, "payees", "33333333", false)
		a.set([]string{"33333333"}, nil)
		has(t, s, "payees", "33333333", false)
		time.Sleep(time.Minute + time.Second)
		has(t, s, "payees", "33333333", true)
		has(t, s, "payees", "DE021203", false)
		if ok, err := s.Holds(t.Context(), effect.Account, "33333333"); !ok || err != nil {
			t.Errorf("Holds() = %v, %v, want the member", ok, err)
		}
		last, ok, err := s.Queried(t.Context(), "payees")
		if err != nil || !ok || len(last.Values) != 1 || time.Since(last.At) != time.Second {
			t.Errorf("Queried() = %+v, %v, %v", last, ok, err)
		}
		if _, ok, err := s.Queried(t.Context(), "others"); ok || err != nil {
			t.Errorf("Queried() of a set without a query = %v, %v", ok, err)
		}
	})
}

// TestWhatWasReadLastStandsForABoundedTime, and then no value is a member: neither of the
// query, nor of the list, nor one by which the set grew.
func TestWhatWasReadLastStandsForABoundedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := known.NewGrowth(newSettings(t), nil)
		if _, err := g.Add(t.Context(), "payees", known.Member{Value: "44444444", Kind: effect.Account}); err != nil {
			t.Fatal(err)
		}
		a := &answers{list: []string{"33333333"}}
		s := a.query(t, g.Values)
		defer s.Close()
		has(t, s, "payees", "33333333", true)
		has(t, s, "payees", "44444444", true)
		a.set(nil, errors.New("connection bank cannot be reached"))
		time.Sleep(3*time.Minute - time.Second)
		has(t, s, "payees", "33333333", true)
		time.Sleep(2 * time.Second)
		for _, value := range []string{"33333333", "11111111", "44444444"} {
			ok, err := s.Has(t.Context(), "payees", value)
			if ok || !errors.Is(err, known.ErrUnread) || err.Error() != "known.payees: its query cannot be read: connection bank cannot be reached" {
				t.Errorf("Has(%s) = %v, %v, want that the set cannot be read", value, ok, err)
			}
		}
		if ok, err := s.Holds(t.Context(), effect.Account, "33333333"); ok || err != nil {
			t.Errorf("Holds() = %v, %v, want nothing", ok, err)
		}
		if ok, err := s.Holds(t.Context(), effect.Account, "22222222"); !ok || err != nil {
			t.Errorf("Holds() = %v, %v, want the member of the other set", ok, err)
		}
		a.set([]string{"33333333"}, nil)
		time.Sleep(31 * time.Second)
		has(t, s, "payees", "33333333", true)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if want := "connection bank cannot be reached, <nil>"; strings.Join(a.told, ", ") != want {
			t.Errorf("told = %q, want each change once: %s", a.told, want)
		}
	})
}

// TestACallWaitsForTheFirstReadingAlone.
func TestACallWaitsForTheFirstReadingAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []string{"33333333"}, takes: 10 * time.Second}
		s := a.query(t, nil)
		defer s.Close()
		s.Start()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if ok, err := s.Has(short, "payees", "33333333"); ok || !errors.Is(err, known.ErrUnread) {
			t.Errorf("Has() = %v, %v when the call ends first, want that the set is not read", ok, err)
		}
		has(t, s, "payees", "33333333", true)
		time.Sleep(time.Minute + 5*time.Second) // the second reading runs
		before := time.Now()
		has(t, s, "payees", "33333333", true)
		if time.Since(before) != 0 {
			t.Errorf("the call waited %s for a later reading", time.Since(before))
		}
	})
}

func TestClosedSetsReadNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{list: []string{"33333333"}, takes: time.Hour}
		running, never := a.query(t, nil), a.query(t, nil)
		running.Start()
		synctest.Wait()
		for range 2 {
			if err := errors.Join(running.Close(), never.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if ok, err := never.Has(t.Context(), "payees", "33333333"); ok || !errors.Is(err, known.ErrUnread) {
			t.Errorf("Has() = %v, %v, want that the set is not read", ok, err)
		}
		if a.asked != 1 {
			t.Errorf("the query was read %d times, want once", a.asked)
		}
	})
}

func TestMembersOfATable(t *testing.T) {
	t.Parallel()
	column, many := []string{"iban"}, make([]string, known.MaxQueried+1)
	for _, c := range []struct {
		name  string
		table sallyport.Table
		want  string
	}{
		{"none", sallyport.Table{Columns: column}, ""},
		{"two columns", sallyport.Table{Columns: []string{"iban", "name"}}, "it gives 2 columns: select one"},
		{"no column", sallyport.Table{}, "it gives 0 columns"},
		{"more", sallyport.Table{Columns: column, More: true}, "more than 10000 members"},
		{"null", sallyport.Table{Columns: column, Rows: [][]any{{"a"}, {nil}}}, "row 2 is null"},
		{"float", sallyport.Table{Columns: column, Rows: [][]any{{1.5}}}, "row 1 is neither"},
		{"bytes", sallyport.Table{Columns: column, Rows: [][]any{{map[string]any{"base64": "AA=="}}}}, "row 1 is neither"},
	} {
		_, err := known.Members(c.table)
		if got := fmt.Sprint(err); (c.want == "") != (err == nil) || !strings.Contains(got, c.want) && c.want != "" {
			t.Errorf("%s: Members() = %v, want %q", c.name, err, c.want)
		}
	}
	list, err := known.Members(sallyport.Table{Columns: column, Rows: [][]any{{"a b"}, {int64(12345678)}}})
	if err != nil || strings.Join(list, ",") != "a b,12345678" {
		t.Errorf("Members() = %q, %v", list, err)
	}
	a := &answers{list: many}
	s := a.query(t, nil)
	if ok, err := s.Has(t.Context(), "payees", "x"); ok || err == nil || !strings.Contains(err.Error(), "more than 10000 members") {
		t.Errorf("Has() = %v, %v with too many members", ok, err)
	}
}

// TestACallOfThePastIsNotDecidedWithoutItsSet: neither as if no value were a member, nor as
// if the piece of a text were not the operator's.
func TestACallOfThePastIsNotDecidedWithoutItsSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &answers{err: errors.New("no such table")}
		s := a.query(t, nil)
		defer s.Close()
		s.NeedQueries()
		if _, err := s.Has(t.Context(), "payees", "11111111"); err == nil || errors.Is(err, known.ErrUnread) {
			t.Errorf("Has() of a set that cannot be read = %v, want an error of its own", err)
		}
		if _, err := s.Holds(t.Context(), effect.Account, "33333333"); err == nil || errors.Is(err, known.ErrUnread) {
			t.Errorf("Holds() beside a set that cannot be read = %v, want an error of its own", err)
		}
		has(t, s, "others", "22222222", true)
	})
}
