package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/output"
)

func TestWaitingRecordsShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slice{before: func(context.Context) error {
			time.Sleep(time.Second) // a slow disk
			return nil
		}}
		l := newLog(t, s, nil)
		defer l.Close()
		const callers = 100
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				if err := l.Record(t.Context(), intent(fmt.Sprint(i))); err != nil {
					t.Errorf("Record = %v", err)
				}
			})
		}
		wg.Wait()
		if s.commits > 2 {
			t.Errorf("%d records took %d commits, want at most 2", callers, s.commits)
		}
		if r := verify(t, s, nil); !r.OK() || r.Records != callers {
			t.Errorf("Verify: %s, want %d records", r.String(), callers)
		}
	})
}

func TestRecordReturnsAfterTheCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		commit := make(chan struct{})
		s := &slice{before: func(context.Context) error { <-commit; return nil }}
		l := newLog(t, s, nil)
		defer l.Close()
		returned := false
		go func() {
			if err := l.Record(t.Context(), intent("c")); err != nil {
				t.Errorf("Record = %v", err)
			}
			returned = true
		}()
		synctest.Wait()
		if returned {
			t.Error("Record returned before the commit")
		}
		close(commit)
		synctest.Wait()
		if !returned {
			t.Error("Record did not return after the commit")
		}
	})
}

func TestRecordIsWrittenAlthoughNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slice{before: func(context.Context) error { time.Sleep(time.Second); return nil }}
		l := newLog(t, s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := l.Record(ctx, intent("c"))
		if !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Record = %v, want ErrNotKept and the deadline", err)
		}
		l.Close()
		if r := verify(t, s, nil); r.Records != 1 {
			t.Errorf("%d records after Close, want the one that was handed over", r.Records)
		}
	})
}

// TestWhatWaitsForTheDisk: an intent that asks for it waits, an outcome does
// not and follows a moment later, or with the next one that waits, or at the
// end.
func TestWhatWaitsForTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slice{}
		l := newLog(t, s, &audit.Options{Settle: time.Second})
		record := func(durable bool, after time.Duration) {
			t.Helper()
			e := intent("c")
			e.Durable = durable
			if err := l.Record(t.Context(), e); err != nil {
				t.Errorf("Record = %v", err)
			}
			time.Sleep(after)
		}
		record(true, 2*time.Second)    // owes nothing
		record(false, time.Second/2)   // waits for company
		record(true, 2*time.Second)    // takes it along
		record(false, 3*time.Second/2) // settles
		record(false, time.Second/10)  // cut short by the end
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		want := []string{"append", "sync", "append", "append", "sync", "append", "sync", "append", "sync"}
		if diff := cmp.Diff(want, s.did); diff != "" {
			t.Errorf("what the store did (-want +got):\n%s", diff)
		}
		if r := verify(t, s, nil); !r.OK() || r.Records != 5 {
			t.Errorf("Verify: %s, want 5 records", r.String())
		}
	})
}

// TestAFailedSettleIsTriedAgain: what could not be brought to the disk is owed
// until a later attempt succeeds.
func TestAFailedSettleIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		s := &slice{before: func(context.Context) error {
			if broken.Load() {
				return errors.New("no space")
			}
			return nil
		}}
		l := newLog(t, s, &audit.Options{Settle: time.Second})
		if err := l.Record(t.Context(), intent("c")); err != nil {
			t.Fatal(err)
		}
		broken.Store(true)
		time.Sleep(2 * time.Second)
		broken.Store(false)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"append", "sync"}, s.did); diff != "" {
			t.Errorf("what the store did (-want +got):\n%s", diff)
		}
	})
}

func TestHangingStoreCostsOneTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slice{before: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		l := newLog(t, s, &audit.Options{Timeout: time.Minute, Batch: 1, Waiting: 5})
		defer l.Close()
		start := time.Now()
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if err := l.Record(t.Context(), intent("c")); !errors.Is(err, audit.ErrNotKept) {
					t.Errorf("Record = %v, want ErrNotKept", err)
				}
			})
		}
		wg.Wait()
		if got := time.Since(start); got > 2*time.Minute {
			t.Errorf("six records waited %v, want them to share the timeout", got)
		}
	})
}

func TestFailedCommitKeepsNothing(t *testing.T) {
	full := errors.New("disk is full")
	s := &slice{before: func(context.Context) error { return full }}
	l := newLog(t, s, nil)
	defer l.Close()
	if err := l.Record(t.Context(), intent("a")); !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, full) {
		t.Errorf("Record = %v, want ErrNotKept and the store's error", err)
	}
	s.before = nil
	if err := l.Record(t.Context(), intent("b")); err != nil {
		t.Errorf("Record after the store recovered = %v", err)
	}
	if r := verify(t, s, nil); !r.OK() || r.Records != 1 || r.Head.Seq != 1 {
		t.Errorf("Verify: %s, want one record: no number was used up", r.String())
	}
}

func TestRecordRefusesWhatIsNoEvent(t *testing.T) {
	l := newLog(t, &slice{}, nil)
	defer l.Close()
	for _, kind := range []audit.Kind{"", "checkpoint", "Intent"} {
		if err := l.Record(t.Context(), &audit.Event{Kind: kind}); !errors.Is(err, audit.ErrNotKept) {
			t.Errorf("Record(kind %q) = %v, want ErrNotKept", kind, err)
		}
	}
}

func TestClosedLog(t *testing.T) {
	l := newLog(t, &slice{}, nil)
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
	if err := l.Record(t.Context(), intent("c")); !errors.Is(err, audit.ErrNotKept) || !errors.Is(err, audit.ErrClosed) {
		t.Errorf("Record = %v, want ErrNotKept and ErrClosed", err)
	}
}

func TestCloseWhileRecording(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, &audit.Options{Waiting: 1, Batch: 2})
	var wg sync.WaitGroup
	kept := make([]int, 16)
	for i := range kept {
		wg.Go(func() {
			for l.Record(t.Context(), intent("c")) == nil {
				kept[i]++
			}
		})
	}
	for {
		s.mu.Lock()
		enough := s.commits > 20
		s.mu.Unlock()
		if enough {
			break
		}
	}
	l.Close()
	wg.Wait()
	total := 0
	for _, n := range kept {
		total += n
	}
	if r := verify(t, s, nil); !r.OK() || r.Records != int64(total) {
		t.Errorf("Verify: %s, want the %d records that were acknowledged", r.String(), total)
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name  string
		store audit.Store
		key   audit.Key
		o     *audit.Options
	}{
		{"no store", nil, key(t, "key"), nil},
		{"no key", &slice{}, audit.Key{}, nil},
		{"negative option", &slice{}, key(t, "key"), &audit.Options{Batch: -1}},
		{"another key", chain(t, 1), key(t, "other"), nil},
	}
	for _, tt := range tests {
		if l, err := audit.New(tt.store, tt.key, tt.o); err == nil {
			l.Close()
			t.Errorf("%s: New = no error, want one", tt.name)
		}
	}
}

func TestNewGoesOnAfterABadRecord(t *testing.T) {
	s := chain(t, 2)
	s.records[3].Hash[0] ^= 1
	l := newLog(t, s, nil)
	defer l.Close()
	if err := l.Record(t.Context(), intent("c")); err != nil {
		t.Errorf("Record = %v, want the chain to go on", err)
	}
	if r := verify(t, s, nil); r.OK() || r.Bad.Seq != 4 {
		t.Errorf("Verify: %s, want record 4 bad still", r.String())
	}
}

func TestRecordedEvent(t *testing.T) {
	s := &slice{}
	now := time.Date(2026, 3, 1, 12, 0, 0, 5, time.FixedZone("", 7200))
	l := newLog(t, s, &audit.Options{Now: func() time.Time { return now }})
	defer l.Close()
	given := audit.Event{
		Kind: audit.KindOutcome, CallID: "id", ToolCallID: "toolu_1", Tool: "read_file", Principal: "ci", Session: "s",
		Personality: "researcher", Platform: sallyport.PlatformMCP, Agent: "a", Team: "b", Args: `{"path":"<x>"}`,
		ArgsDigest: "00", Definition: "11", Grant: &sallyport.Grant{Secrets: []string{"providers/*"}},
		Code: sallyport.CodeNotAvailable, Stage: sallyport.StepVisible, Error: "no",
		Decisions: []sallyport.Decision{{Step: sallyport.StepFind, Allowed: true}, {Step: sallyport.StepVisible, Why: "w", Source: "f:1:2", Fix: "x"}},
		DryRun:    true, Cached: true, Duration: 1500 * time.Microsecond, ValueChars: 7, Parts: 2, PartBytes: 9, CostUSD: 0.002, Level: "landlock", Full: "all",
	}
	before := given
	if err := l.Record(t.Context(), &given); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, given); diff != "" {
		t.Errorf("Record changed its argument (-want +got):\n%s", diff)
	}
	want := given
	want.Version, want.Seq, want.Time, want.KeyID = audit.Version, 1, now.UTC(), key(t, "key").ID()
	for e, err := range audit.Events(t.Context(), s, audit.Query{}) {
		if diff := cmp.Diff(want, e); diff != "" || err != nil {
			t.Errorf("Events: %v, difference (-want +got):\n%s", err, diff)
		}
		if !e.Denied() {
			t.Error("Denied = false for a refused call")
		}
	}
	if body := string(s.records[0].Body); strings.Contains(body, "\n") || !strings.Contains(body, `"ok":false`) ||
		!strings.Contains(body, `"duration_ms":1.5`) || strings.Contains(body, `"seq"`) {
		t.Errorf("body = %s, want one line with ok and duration_ms and without seq", body)
	}
}

func TestRecordIsBounded(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, nil)
	defer l.Close()
	long := strings.Repeat("ü", 1<<20)
	hosts := make([]string, 10_000)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host%d.example.com", i)
	}
	clean := output.Clean(long)
	e := audit.Event{
		Kind: audit.KindOutcome, CallID: long, ToolCallID: clean, Tool: clean, Principal: long, Session: clean, Personality: clean,
		Platform: sallyport.Platform(long), Agent: clean, Team: clean, Args: clean, ArgsDigest: long, Definition: long,
		Code: sallyport.Code(long), Stage: sallyport.Step(long), Error: clean, Level: sallyport.Level(long), Full: clean,
		Grant: &sallyport.Grant{Network: sallyport.NetworkGrant{Allow: hosts}},
	}
	for range 1000 {
		e.Decisions = append(e.Decisions, sallyport.Decision{Why: long, Source: long, Fix: long})
	}
	if err := l.Record(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	const most = audit.MaxFull + audit.MaxArgs + audit.MaxError + 16*audit.MaxName + audit.MaxDecisions*(3*audit.MaxReason+64) + 4096
	if got := len(s.records[0].Body); got > most {
		t.Errorf("the body has %d bytes, want at most %d", got, most)
	}
	for got, err := range audit.Events(t.Context(), s, audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got.Grant != nil || len(got.GrantDigest) != 64 {
			t.Errorf("grant %v, digest %q, want the digest alone", got.Grant != nil, got.GrantDigest)
		}
		if len(got.Args) > audit.MaxArgs || !strings.HasSuffix(string(got.Args), "ü [cut -- 2097152 bytes total]") {
			t.Errorf("Args = …%q, want it cut between code points and marked", got.Args[len(got.Args)-40:])
		}
		if len(got.Decisions) != audit.MaxDecisions || len(got.Decisions[0].Why) > audit.MaxReason {
			t.Errorf("%d decisions, the first with %d bytes", len(got.Decisions), len(got.Decisions[0].Why))
		}
	}
	if len(e.Decisions) != 1000 || e.Decisions[0].Why != long {
		t.Error("Record changed the decisions of its argument")
	}
}

func TestEventJSON(t *testing.T) {
	for _, e := range []*audit.Event{intent("a"), outcome("b"), {Kind: audit.KindOutcome, Duration: 3 * time.Second}} {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if hasOK := strings.Contains(string(text), `"ok":`); hasOK != (e.Kind == audit.KindOutcome) {
			t.Errorf("Marshal = %s, want ok on an outcome alone", text)
		}
		var again audit.Event
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*e, again); diff != "" {
			t.Errorf("Unmarshal(%s), difference (-want +got):\n%s", text, diff)
		}
	}
	var e audit.Event
	if err := json.Unmarshal([]byte(`{"kind":7}`), &e); err == nil {
		t.Error("Unmarshal of a wrong type = no error")
	}
}

func TestOddTextIsRecordedAsValid(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, nil)
	defer l.Close()
	for _, tool := range []string{"a\xff", strings.Repeat("\xff", audit.MaxName), strings.Repeat("\xff", 10*audit.MaxName)} {
		e := intent("c")
		e.Tool = output.Clean(tool)
		if err := l.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range s.records {
		e, err := r.Event()
		if err != nil || string(e.Tool) != r.Tool || !utf8.ValidString(r.Tool) || len(r.Tool) > audit.MaxName {
			t.Errorf("tool %q in the record, %q in its body, %v, want the same valid text", r.Tool, e.Tool, err)
		}
	}
}

func TestSmallGrantIsKept(t *testing.T) {
	s := &slice{}
	l := newLog(t, s, nil)
	defer l.Close()
	hosts := make([]string, 900) // above the estimate's half, below the bound
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host%d.example.com", i)
	}
	e := intent("c")
	e.Grant = &sallyport.Grant{
		Network: sallyport.NetworkGrant{Allow: hosts}, Dropped: []sallyport.Dropped{{Item: "x"}},
		Database: &sallyport.DatabaseCapability{Connections: []string{"a"}}, Mail: &sallyport.MailCapability{To: []string{"b"}},
	}
	if err := l.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	for got, err := range audit.Events(t.Context(), s, audit.Query{}) {
		if diff := cmp.Diff(e.Grant, got.Grant); diff != "" || err != nil {
			t.Errorf("Grant: %v, difference (-want +got):\n%s", err, diff)
		}
	}
}

func TestUnfinished(t *testing.T) {
	events := []audit.Event{*intent("a"), *intent("b"), *outcome("a"), *outcome("denied")}
	got := audit.Unfinished(events)
	if len(got) != 1 || got[0].CallID != "b" {
		t.Errorf("Unfinished = %v, want b alone", got)
	}
}
