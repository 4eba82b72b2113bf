package recallstore_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/internal/recallstore"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
)

var firstDay = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// recorded is what a test records of a call.
type recorded struct{ id, principal, role, session, tool, args, err string }

// recordCalls records calls, one a day.
func recordCalls(t testing.TB, state audit.Store, calls ...recorded) {
	t.Helper()
	log := audittest.NewLog(t, state)
	for i, c := range calls {
		for _, kind := range []audit.Kind{audit.KindIntent, audit.KindOutcome} {
			e := audittest.NewEvent(kind, c.id)
			e.Principal, e.Time, e.Personality, e.Session = c.principal, firstDay.AddDate(0, 0, i), output.Plain().Text(c.role), output.Plain().Text(c.session)
			if c.tool != "" {
				e.Tool = output.Plain().Text(c.tool)
			}
			if c.args != "" {
				e.Args = output.Plain().Text(c.args)
			}
			if kind == audit.KindOutcome && c.err != "" {
				e.OK, e.Error = false, output.Plain().Text(c.err)
			}
			if err := log.Record(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	log.Close()
}

func newMemory(t testing.TB) store.State {
	t.Helper()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	return state
}

func openState(t testing.TB) (state *sqlite.DB, index string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	state, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	return state, path + "-calls"
}

func newIndex(t testing.TB, path string, records audit.Reader, o *recallstore.CallOptions) *recallstore.CallIndex {
	t.Helper()
	x := recallstore.NewCallIndex(path, records, o)
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// idsOf returns the calls that a query of ann in the role dev finds.
func idsOf(t testing.TB, x *recallstore.CallIndex, q recall.CallQuery) string {
	t.Helper()
	q.Principal, q.Role = "ann", "dev"
	if q.Most == 0 {
		q.Most = 9
	}
	calls, err := x.Calls(t.Context(), q)
	if err != nil {
		t.Errorf("Calls(%+v) = %v", q, err)
	}
	var ids []string
	for _, p := range calls.List {
		ids = append(ids, p.ID)
	}
	return strings.Join(ids, " ")
}

// TestCallsOfThePrincipalInItsRoleAreFound holds a search of the record to one principal
// in one role, with the best first.
func TestCallsOfThePrincipalInItsRoleAreFound(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (audit.Store, string){
		"memory": func() (audit.Store, string) { return newMemory(t), "" },
		"file":   func() (audit.Store, string) { return openState(t) },
	} {
		t.Run(name, func(t *testing.T) {
			state, path := open()
			recordCalls(t, state,
				recorded{"1", "ann", "dev", "s1", "", "", ""},
				recorded{"2", "bob", "dev", "s1", "", "", ""},
				recorded{"3", "ann", "ops", "s1", "", "", ""},
				recorded{"4", "ann", "dev", "s2", "", "", "no such host Example"},
				recorded{"5", "ann", "dev", "s1", "", "", ""},
				recorded{"6", "ann", "dev", "s1", "mcp__bank__send_money", `{"to":"Ann\nÉmile","count":1000000,"done":null}`, ""},
				recorded{"7", "ann", "dev", "s1", "session_search", `{"query":"read_file"}`, ""},
			)
			x := newIndex(t, path, state, nil)
			for _, tt := range []struct {
				q    recall.CallQuery
				want string
			}{
				{recall.CallQuery{}, "6 5 4 1"},
				{recall.CallQuery{Most: 2}, "6 5"},
				{recall.CallQuery{Session: "s1"}, "6 5 1"},
				{recall.CallQuery{Session: "s3"}, ""},
				{recall.CallQuery{Words: "READ_file /w/a"}, "5 4 1"},
				{recall.CallQuery{Words: "host example"}, "4"},
				{recall.CallQuery{Words: "host path nowhere"}, "4 5 1"},
				{recall.CallQuery{Words: "path host", Session: "s1"}, "5 1"},
				{recall.CallQuery{Words: "emile 1000000 Bank"}, "6"},
				{recall.CallQuery{Words: "nil"}, ""},
				{recall.CallQuery{Words: "?!"}, ""},
				{recall.CallQuery{Words: `s1" OR "read`}, "5 4 1"},
				{recall.CallQuery{Words: "file", Since: firstDay.AddDate(0, 0, 4)}, "5"},
				{recall.CallQuery{Words: "file", Since: firstDay.AddDate(1, 0, 0)}, ""},
			} {
				if got := idsOf(t, x, tt.q); got != tt.want {
					t.Errorf("Calls(%+v) = %q, want %q", tt.q, got, tt.want)
				}
			}
			calls, err := x.Calls(t.Context(), recall.CallQuery{Principal: "ann", Role: "dev", Words: "example", Most: 1})
			want := recall.PastCall{ID: "4", Session: "s2", Tool: "read_file", Args: `{"path":"/w/a"}`, Said: "no such host Example", Time: firstDay.AddDate(0, 0, 3)}
			if err != nil || len(calls.List) != 1 || calls.List[0] != want || !calls.Back.IsZero() {
				t.Errorf("Calls(example) = %+v, %v, want %+v", calls, err, want)
			}
		})
	}
}

// What was recorded before a search began is found by it, whichever process built the index.
func TestASearchKnowsTheWholeRecord(t *testing.T) {
	t.Parallel()
	state, path := openState(t)
	x := newIndex(t, path, state, &recallstore.CallOptions{Batch: 3})
	other := newIndex(t, path, state, nil)
	for i := range 20 {
		id := fmt.Sprint("c", i)
		recordCalls(t, state, recorded{id, "ann", "dev", "s1", "", fmt.Sprintf(`{"n":"word%d"}`, i), ""})
		if got := idsOf(t, x, recall.CallQuery{Words: fmt.Sprint("word", i)}); got != id {
			t.Fatalf("after call %d: %q", i, got)
		}
		if i%5 == 0 && idsOf(t, other, recall.CallQuery{Words: fmt.Sprint("word", i)}) != id {
			t.Fatalf("another process does not find call %d", i)
		}
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if got := idsOf(t, []*recallstore.CallIndex{x, other}[i%2], recall.CallQuery{Words: fmt.Sprint("word", i)}); got != fmt.Sprint("c", i) {
				t.Errorf("at once: word%d = %q", i, got)
			}
		})
	}
	all.Wait()
}

// An index that is lost, damaged, or of another record is made again.
func TestALostIndexIsMadeAgain(t *testing.T) {
	t.Parallel()
	state, path := openState(t)
	recordCalls(t, state, recorded{"1", "ann", "dev", "s1", "", "", ""})
	err := state.Append(t.Context(), func(h audit.Head) ([]audit.Record, error) {
		return []audit.Record{{Seq: h.Seq + 1, Kind: audit.KindOutcome, Body: []byte("no file")}}, nil // which a verification names
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, harm := range map[string]func() error{
		"kept":    func() error { return nil },
		"removed": func() error { return os.Remove(path) },
		"no database": func() error {
			return os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600)
		},
		"pages overwritten": func() error {
			data, err := os.ReadFile(path)
			if err == nil {
				for i := 4096; i < len(data); i++ {
					data[i] = 0xaa
				}
				err = os.WriteFile(path, data, 0o600)
			}
			return err
		},
	} {
		x := recallstore.NewCallIndex(path, state, nil)
		if got := idsOf(t, x, recall.CallQuery{Words: "file"}); got != "1" {
			t.Errorf("before %s: %q", name, got)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		x = recallstore.NewCallIndex(path, state, nil)
		if got := idsOf(t, x, recall.CallQuery{Words: "file"}); got != "1" {
			t.Errorf("%s: %q, want the call", name, got)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	other := newMemory(t)
	recordCalls(t, other, recorded{"of another record", "ann", "dev", "s1", "", "", ""}, recorded{"2", "ann", "dev", "s1", "", "", ""})
	if got := idsOf(t, newIndex(t, path, other, nil), recall.CallQuery{Words: "file"}); got != "2 of another record" {
		t.Errorf("over another record: %q, want its calls alone", got)
	}
}

// Words of records that were pruned are neither found nor in the file.
func TestPrunedCallsLeaveTheIndex(t *testing.T) {
	t.Parallel()
	for name, drop := range map[string]func(x *recallstore.CallIndex) error{
		"at once":            func(x *recallstore.CallIndex) error { return x.DropPruned(context.Background()) },
		"by the next search": func(*recallstore.CallIndex) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state, path := openState(t)
			if err := newIndex(t, path, state, nil).DropPruned(t.Context()); err != nil {
				t.Errorf("without a file: %v", err)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("a file was made")
			}
			recordCalls(t, state,
				recorded{"1", "ann", "dev", "s1", "", `{"q":"xylophonequartz"}`, ""},
				recorded{"2", "ann", "dev", "s1", "", `{"q":"staysthere"}`, ""})
			x := recallstore.NewCallIndex(path, state, nil)
			if got := idsOf(t, x, recall.CallQuery{Words: "xylophonequartz"}); got != "1" {
				t.Fatalf("before: %q", got)
			}
			if n, err := audit.Prune(t.Context(), state, audittest.NewKey(t, "key"), firstDay.AddDate(0, 0, 1)); n != 2 || err != nil {
				t.Fatalf("Prune = %d, %v", n, err)
			}
			if err := drop(x); err != nil {
				t.Fatal(err)
			}
			if name == "by the next search" {
				if got := idsOf(t, x, recall.CallQuery{Words: "xylophonequartz staysthere"}); got != "2" {
					t.Errorf("after: %q, want what is left", got)
				}
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for word, want := range map[string]bool{"xylophonequartz": false, "staysthere": true, "ann": false} {
				if got := strings.Contains(string(data), word); got != want {
					t.Errorf("the file holds %q: %t, want %t", word, got, want)
				}
			}
			if got := idsOf(t, newIndex(t, path, state, nil), recall.CallQuery{}); got != "2" {
				t.Errorf("what is left: %q", got)
			}
		})
	}
}

// An index that may not grow lets its oldest calls go, and says how far it goes back.
func TestAnIndexIsBounded(t *testing.T) {
	t.Parallel()
	state := newMemory(t)
	var calls []recorded
	for i := range 400 {
		calls = append(calls, recorded{fmt.Sprint(i), "ann", "dev", "s1", "", fmt.Sprintf(`{"text":"%s"}`, manyWords(i, 150)), ""})
	}
	recordCalls(t, state, calls...)
	path := filepath.Join(t.TempDir(), "calls")
	const most = 1 << 20
	x := newIndex(t, path, state, &recallstore.CallOptions{MaxBytes: most, Batch: 100})
	found, err := x.Calls(t.Context(), recall.CallQuery{Principal: "ann", Role: "dev", Words: "text", Most: 400})
	if err != nil || len(found.List) == 0 || found.List[0].ID != "399" {
		t.Fatalf("Calls = %d calls, %v, want the newest", len(found.List), err)
	}
	if found.Back.IsZero() || found.Back.After(firstDay.AddDate(0, 0, 399)) {
		t.Errorf("the search went back to %v", found.Back)
	}
	if got := idsOf(t, x, recall.CallQuery{Words: "w0x0"}); got != "" {
		t.Errorf("the oldest call: %q, want it gone", got)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > most || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v, want at most %d bytes", info, err, most)
	}
}

func manyWords(i, n int) string {
	words := make([]string, n)
	for j := range words {
		words[j] = fmt.Sprintf("w%dx%d", i, j)
	}
	return strings.Join(words, " ")
}

// gated is a record that is read only once it is opened.
type gated struct {
	audit.Store
	open chan struct{}
}

func (g gated) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	<-g.open
	return g.Store.Read(ctx, q)
}

// A search that the first building of the index keeps too long says so, and the building
// goes on without it.
func TestTheIndexIsBuiltWithoutItsCaller(t *testing.T) {
	t.Parallel()
	state := newMemory(t)
	recordCalls(t, state, recorded{"1", "ann", "dev", "s1", "", "", ""})
	records := gated{state, make(chan struct{})}
	x := newIndex(t, "", records, &recallstore.CallOptions{Wait: time.Nanosecond})
	if _, err := x.Calls(t.Context(), recall.CallQuery{Principal: "ann", Role: "dev", Words: "file", Most: 1}); err == nil || !strings.Contains(err.Error(), "still being indexed") {
		t.Errorf("Calls = %v, want that the index is being built", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Calls(ctx, recall.CallQuery{Words: "file", Most: 1}); err == nil {
		t.Error("a cancelled search answers")
	}
	close(records.open)
	patient := newIndex(t, "", records, nil)
	if got := idsOf(t, patient, recall.CallQuery{Words: "file"}); got != "1" {
		t.Errorf("Calls = %q", got)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if _, err := x.Calls(t.Context(), recall.CallQuery{Words: "file", Most: 1}); err == nil {
		t.Error("a closed index answers")
	}
}
