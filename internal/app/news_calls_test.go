package app

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/memory"
)

// countedReader counts the records that are read.
type countedReader struct {
	audit.Reader
	records int
}

func (r *countedReader) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for rec, err := range r.Reader.Read(ctx, q) {
			r.records++
			if !yield(rec, err) {
				return
			}
		}
	}
}

// TestEarlierCallsAreReadOnce: for all held calls of a tool by a principal the record is read
// once, and afterwards what was added, which counts.
func TestEarlierCallsAreReadOnce(t *testing.T) {
	t.Parallel()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = state.Close() }()
	log := audittest.NewLog(t, state)
	run := func(to string) {
		t.Helper()
		e := &audit.Event{Kind: audit.KindOutcome, OK: true, Tool: output.Plain().Text("pay"), Principal: "ann", Personality: output.Plain().Text("ops"), CallID: "to-" + to, Args: output.Plain().Text(`{"to":"` + to + `"}`)}
		if err := log.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	var book newsBook
	from := &countedReader{Reader: state}
	ask := func(id, to string) string {
		t.Helper()
		news, err := book.describeNews(t.Context(), from, &sallyport.Approval{Tool: "pay", Principal: "ann", Personality: "ops", CallID: id, Args: `{"to":"` + to + `"}`}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(news, "\n")
	}
	if got := ask("h1", "bob"); !strings.Contains(got, "no earlier call") {
		t.Errorf("without a record: %q", got)
	}
	const runs = 20
	for i := range runs {
		run(fmt.Sprint("p", i))
	}
	from.records = 0
	for range 50 {
		if got := ask("h1", "bob"); got != `argument /to: none of the last 20 calls that ran had "bob"` {
			t.Errorf("news = %q", got)
		}
	}
	if from.records != runs {
		t.Errorf("%d records were read for 50 questions, want each of %d once", from.records, runs)
	}
	run("bob")
	if got := ask("h1", "bob"); got != "" || from.records != runs+1 {
		t.Errorf("after such a call ran: %q, with %d records, want nothing and one more", got, from.records)
	}
	if got := ask("to-bob", "bob"); !strings.Contains(got, `none of the last 20 calls`) {
		t.Errorf("the call of the question counts as an earlier one: %q", got)
	}
}

// TestEarlierCallsAreRememberedWithinBounds: of many tools, and for a time.
func TestEarlierCallsAreRememberedWithinBounds(t *testing.T) {
	t.Parallel()
	var book newsBook
	now := time.Now()
	for i := range 10 {
		book.rememberCalls(toolUse{fmt.Sprint(i), "ann"}, &pastCalls{asked: now.Add(time.Duration(i) * time.Second), bytes: newsBytes / 4})
	}
	if _, newest := book.all[toolUse{"9", "ann"}]; len(book.all) != 4 || !newest {
		t.Errorf("%d are remembered, want the 4 newest", len(book.all))
	}
	book.rememberCalls(toolUse{"large", "ann"}, &pastCalls{asked: now.Add(time.Minute), bytes: newsBytes + 1})
	if len(book.all) != 0 {
		t.Errorf("%d are remembered beside one that is too large", len(book.all))
	}
	book.rememberCalls(toolUse{"old", "ann"}, &pastCalls{asked: now.Add(-newsLife - time.Second)})
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = state.Close() }()
	if _, err := book.describeNews(t.Context(), state, &sallyport.Approval{Tool: "new", Principal: "ann"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, old := book.all[toolUse{"old", "ann"}]; old || len(book.all) != 1 {
		t.Errorf("%d are remembered, want the one that was asked about", len(book.all))
	}
}

// TestRememberedCallsSayWhatTheRecordSays: a call whose arguments were cut hides news for as
// long as it is among the newest, and nothing is said of calls that were not read.
func TestRememberedCallsSayWhatTheRecordSays(t *testing.T) {
	t.Parallel()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = state.Close() }()
	log := audittest.NewLog(t, state)
	ran := 0
	run := func(count int, args string) {
		t.Helper()
		for range count {
			ran++
			e := &audit.Event{Kind: audit.KindOutcome, OK: true, Tool: "pay", Principal: "ann", CallID: fmt.Sprint("c", ran), Args: output.Plain().Text(args)}
			if err := log.Record(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func(book *newsBook, to string) string {
		t.Helper()
		news, err := book.describeNews(t.Context(), state, &sallyport.Approval{Tool: "pay", Principal: "ann", CallID: "held", Args: `{"to":"` + to + `"}`}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(news, "\n")
	}
	var book newsBook
	run(newsRecords-1, `{"to":"bob"}`)
	run(1, `{"to":"cut of`)
	if got := ask(&book, "eve"); got != "" {
		t.Errorf("beside a call with cut arguments: %q", got)
	}
	for range 2 { // in two steps, so that none of them is a gap
		run(newsRecords/2, `{"to":"bob"}`)
		got, want := ask(&book, "eve"), ask(&newsBook{}, "eve")
		if got != want {
			t.Errorf("after %d calls %q is told, and the record says %q", ran, got, want)
		}
	}
	run(1, `{"to":"zoe"}`)
	run(newsRecords, `{"to":"bob"}`)
	if got := ask(&book, "zoe"); got != ask(&newsBook{}, "zoe") || !strings.Contains(got, "none of the last 1000 calls") {
		t.Errorf("across more calls than are read: %q", got)
	}
}
