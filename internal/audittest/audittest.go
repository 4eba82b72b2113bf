// Package audittest makes and checks records for the tests of backends.
package audittest

import (
	"fmt"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
)

// NewKey returns a key for tests, the same for the same word.
func NewKey(t testing.TB, word string) audit.Key {
	t.Helper()
	k, err := audit.NewKey([]byte(fmt.Sprintf("%032s", word)))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// NewLog returns a log over s that is closed with t.
func NewLog(t testing.TB, s audit.Store) *audit.Log {
	t.Helper()
	l, err := audit.New(s, NewKey(t, "key"), nil)
	if err != nil {
		t.Fatalf("audit.New = %v", err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// RecordCalls adds n calls, an intent and an outcome each, and returns the head.
func RecordCalls(t testing.TB, l *audit.Log, s audit.Store, prefix string, n int) audit.Head {
	t.Helper()
	for i := range n {
		for _, kind := range []audit.Kind{audit.KindIntent, audit.KindOutcome} {
			if err := l.Record(t.Context(), NewEvent(kind, fmt.Sprintf("%s%d", prefix, i))); err != nil {
				t.Fatalf("Record = %v", err)
			}
		}
	}
	head, err := audit.Newest(t.Context(), s)
	if err != nil {
		t.Fatalf("Newest = %v", err)
	}
	return head
}

// NewEvent returns an event of a call.
func NewEvent(kind audit.Kind, call string) *audit.Event {
	return &audit.Event{
		Kind: kind, CallID: call, Tool: "read_file", Principal: "local", Session: "s1",
		Platform: sallyport.PlatformCLI, Args: `{"path":"/w/a"}`, OK: kind == audit.KindOutcome,
	}
}

// VerifyRecords returns the report on s.
func VerifyRecords(t testing.TB, s audit.Reader, o *audit.VerifyOptions) audit.Report {
	t.Helper()
	r, err := audit.Verify(t.Context(), s, NewKey(t, "key"), o)
	if err != nil {
		t.Fatalf("Verify = %v", err)
	}
	return r
}
