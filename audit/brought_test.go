package audit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/store/memory"
)

// TestARecordSaysWhatItsCallBrings reads it back from the body alone, and takes
// nothing else for it.
func TestARecordSaysWhatItsCallBrings(t *testing.T) {
	t.Parallel()
	m, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := audit.New(m, audittest.NewKey(t, "key"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const fake = `x","brought":{"private":true}}`
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		kind    audit.Kind
		session string
		brings  *facts.Brought
	}{
		{audit.KindIntent, "s", &facts.Brought{Private: true, Untrusted: true}},
		{audit.KindIntent, strings.Repeat("s", 600), &facts.Brought{Untrusted: true}},
		{audit.KindOutcome, "", &facts.Brought{Private: true}},
		{audit.KindOutcome, "s", nil},
		{audit.KindIntent, fake, nil},
	} {
		e := audit.Event{
			Kind: c.kind, CallID: "c", Tool: fake, Principal: "p", Time: at, OK: true, Full: fake, Duration: time.Second,
			Grant: &sallyport.Grant{Secrets: []string{fake}},
		}
		if c.kind == audit.KindOutcome {
			e.Carried = &facts.Carried{Pieces: []string{"0123456789abcdef", facts.ShortDigest("a")}, More: true, Unknown: true, Kinds: facts.ShortDigest("b"), Copied: []string{facts.ShortDigest("c")}, Wordless: true}
		}
		if c.brings != nil {
			c.brings.Session = facts.Digest(c.session)
			e.Brought = c.brings
		}
		if err := l.Record(t.Context(), &e); err != nil {
			t.Fatal(err)
		}
		for r, err := range m.Read(t.Context(), audit.Query{Last: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			r.Brought = nil // as a file has it
			read, err := r.Event()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e.Carried, read.Carried); diff != "" {
				t.Errorf("Carried (-want +got):\n%s", diff)
			}
			got := r.FindBrought()
			if diff := cmp.Diff(e.Brought, got); diff != "" || cmp.Diff(e.Brought, read.Brought) != "" {
				t.Errorf("FindBrought (-want +got):\n%s\nEvent: %+v", diff, read.Brought)
			}
		}
	}
	for _, e := range []audit.Event{
		{Kind: audit.KindIntent, Brought: &facts.Brought{Session: strings.Repeat("s", 33)}},
		{Kind: audit.KindIntent, Brought: &facts.Brought{}, Principal: strings.Repeat("p", 513)},
		{Kind: audit.KindIntent, Brought: &facts.Brought{}, Principal: "\xff"},
		{Kind: audit.KindOutcome, Carried: &facts.Carried{Pieces: []string{"\"}"}}},
	} {
		if err := l.Record(t.Context(), &e); err == nil {
			t.Errorf("%+v was recorded with a name that nothing finds again", e)
		}
	}
}
