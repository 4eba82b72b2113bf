package known_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/known"
)

func readSets(t *testing.T, sources map[string]known.Source, grown known.Grown) *known.Sets {
	t.Helper()
	s, err := known.New(sources, grown)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func has(t *testing.T, s *known.Sets, set, value string, want bool) {
	t.Helper()
	if got, err := s.Has(t.Context(), set, value); err != nil || got != want {
		t.Errorf("Has(%s, %.80q) = %v, %v, want %v", set, value, got, err, want)
	}
}

// TestAMemberIsComparedByItsKind.
func TestAMemberIsComparedByItsKind(t *testing.T) {
	t.Parallel()
	s := readSets(t, map[string]known.Source{
		"accounts": {Kind: effect.Account, List: []string{"DE02 1203 0000 0000 2020 51"}},
		"mails":    {Kind: effect.Mail, List: []string{"Ann@Example.com", ""}},
		"urls":     {Kind: effect.URL, List: []string{"https://www.site.example/Plan/"}},
		"paths":    {Kind: effect.Path, List: []string{"Notes/Plan A.txt"}},
		"names":    {Kind: effect.Name, List: []string{"Zoë  Müller"}},
	}, nil)
	for _, c := range []struct {
		set, value string
		want       bool
	}{
		{"accounts", "de02-1203-0000-0000-2020-51", true},
		{"accounts", "DE02120300000000202052", false},
		{"accounts", "DE02 1203 0000 0000 2020 5\u0661", false},
		{"mails", "ann@example.com", true},
		{"mails", "ann@exámple.com", false},
		{"mails", "ann@exa\u0327mple.com", false},
		{"mails", "ann@exam ple.com", false},
		{"mails", "ann@example.com\x00", false},
		{"mails", "", false},
		{"mails", " ", false},
		{"urls", "http://site.example/plan", true},
		{"urls", "http://site.example/plan/more", false},
		{"paths", "Notes/Plan A.txt", true},
		{"paths", "notes/plan a.txt", false},
		{"paths", "Notes/PlanA.txt", false},
		{"names", "zoë müller", true},
		{"names", "Zoe Muller", false},
	} {
		has(t, s, c.set, c.value, c.want)
	}
	if kind, ok := s.Kind("mails"); kind != effect.Mail || !ok {
		t.Errorf("Kind(mails) = %s, %v", kind, ok)
	}
	if kind, ok := s.Kind("none"); kind != "" || ok {
		t.Errorf("Kind(none) = %s, %v", kind, ok)
	}
	if ok, err := s.Has(t.Context(), "none", "a"); ok || err == nil {
		t.Errorf("Has(none) = %v, %v, want an error", ok, err)
	}
}

// TestAFileIsReadAgainWhenItHasChanged, and a set whose file is gone has no members.
func TestAFileIsReadAgainWhenItHasChanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "payees.txt")
	write := func(text string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	write("# payees\n\n  12345678  \r\n#11111111\n", time.Hour)
	s := readSets(t, map[string]known.Source{"payees": {Kind: effect.Account, File: path, List: []string{"99999999"}}}, nil)
	has(t, s, "payees", "12345678", true)
	has(t, s, "payees", "99999999", true)
	has(t, s, "payees", "11111111", false)
	write("87654321\n", time.Minute)
	has(t, s, "payees", "12345678", false)
	has(t, s, "payees", "87654321", true)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if ok, err := s.Has(t.Context(), "payees", "87654321"); ok || !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "known.payees: ") {
			t.Errorf("Has() = %v, %v without the file, want an error that names the set", ok, err)
		}
		if ok, err := s.Holds(t.Context(), effect.Account, "87654321"); ok || err == nil {
			t.Errorf("Holds() = %v, %v without the file, want an error", ok, err)
		}
	}
	write("87654321\n", 0)
	has(t, s, "payees", "87654321", true)
}

// TestASetThatCannotBeReadIsAFault at once, by its name.
func TestASetThatCannotBeReadIsAFault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large, long := filepath.Join(dir, "large"), filepath.Join(dir, "long")
	if err := os.WriteFile(large, []byte(strings.Repeat("a", 4<<20+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(long, []byte(strings.Repeat("a\n", 100_001)), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := known.New(map[string]known.Source{
		"a": {Kind: effect.Mail, File: filepath.Join(dir, "none")}, "b": {Kind: effect.Mail, File: dir}, "c": {Kind: effect.Mail, File: large},
		"d": {Kind: effect.Mail, File: long}, "e": {Kind: effect.Mail},
	}, nil)
	faults, ok := errors.AsType[known.Faults](err)
	if s != nil || !ok || len(faults) != 4 {
		t.Fatalf("New() = %v, %v, want four faults", s, err)
	}
	for i, want := range []string{"a: no such file", "b: not a plain file", "c: more than 4194304 bytes", "d: more than 100000 members"} {
		name, why, _ := strings.Cut(want, ": ")
		if faults[i].Set != name || !strings.Contains(faults[i].Err.Error(), why) || !strings.Contains(err.Error(), "known."+name+": ") {
			t.Errorf("fault %d = %+v, want %s", i, faults[i], want)
		}
	}
}

// TestLargeSetsHaveEveryMember.
func TestLargeSetsHaveEveryMember(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 10_000 {
		list = append(list, fmt.Sprintf("person-%d@example.com", i))
	}
	s := readSets(t, map[string]known.Source{"all": {Kind: effect.Mail, List: list}}, nil)
	has(t, s, "all", "person-9999@example.com", true)
	has(t, s, "all", "person-10000@example.com", false)
	has(t, s, "all", strings.Repeat("a", 1<<20), false)
}

// TestHoldsLooksIntoTexts for pieces of texts, and compares other members as a whole.
func TestHoldsLooksIntoTexts(t *testing.T) {
	t.Parallel()
	s := readSets(t, map[string]known.Source{
		"notes": {Kind: effect.Text, List: []string{"The river rose by a hand and fell again."}}, "mails": {Kind: effect.Mail, List: []string{"ann@example.com"}},
	}, nil)
	for _, c := range []struct {
		kind  sallyport.ValueKind
		exact string
		want  bool
	}{
		{effect.Text, "riverrosebyahand", true},
		{effect.Text, "riverfell", false},
		{effect.Mail, "ann@example.com", true},
		{effect.Mail, "example.com", false},
		{effect.Host, "example.com", false},
	} {
		if got, err := s.Holds(t.Context(), c.kind, c.exact); err != nil || got != c.want {
			t.Errorf("Holds(%s, %s) = %v, %v, want %v", c.kind, c.exact, got, err, c.want)
		}
	}
}

// A set has nothing when what it grew by cannot be told.
func TestASetThatCannotBeToldHasNothing(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	s := readSets(t, map[string]known.Source{"mails": {Kind: effect.Mail}}, func(context.Context, string) (*known.Values, error) { return nil, broken })
	if ok, err := s.Has(t.Context(), "mails", "ann@example.com"); ok || !errors.Is(err, broken) {
		t.Errorf("Has() = %v, %v, want the error", ok, err)
	}
}
