package app

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/internal/suggest"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

const suggestConfig = `version: 2
personalities:
  default: {toolset: [read_file], fs_reach: {read: ["${workspace}"]}}
`

// newTestSuggester returns a suggester that has learnt from three calls.
func newTestSuggester(t *testing.T) *suggester {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := &Environment{
		Stderr: io.Discard, Dir: dir, Home: dir,
		Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
	}
	for name, text := range map[string]string{ConfigName: suggestConfig, "a.txt": "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rt, err := OpenForCalls(t.Context(), env, nil)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := rt.NewCaller(t.Context(), "", "", "")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if res := rt.InForce().Registry.Call(t.Context(), caller, sallyport.Request{Tool: "read_file", Args: json.RawMessage(`{"path":"a.txt"}`)}); !res.OK {
			t.Fatal(res.Error)
		}
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if rt, err = OpenForSuggest(t.Context(), env, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	s, err := rt.newSuggester("default", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.judgePast(t.Context(), time.Time{}, true, s.learnCall); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestACallThatFailedAtWhatItTouchedTeachesNothing: the tool, not the gate, says that a
// child was refused something.
func TestACallThatFailedAtWhatItTouchedTeachesNothing(t *testing.T) {
	t.Parallel()
	s := newTestSuggester(t)
	refused := []sallyport.Decision{{Step: sallyport.StepAccess, Resource: "/etc/hostname"}}
	for _, tt := range []struct {
		e      audit.Event
		learnt bool
	}{
		{audit.Event{Decisions: refused}, false},
		{audit.Event{Decisions: refused, OK: true}, true}, // it went on without
		{audit.Event{Decisions: []sallyport.Decision{{Step: sallyport.StepAccess, Allowed: true}}}, true},
	} {
		tt.e.Tool, tt.e.Personality, tt.e.Args = "read_file", "default", `{"path":"a.txt"}`
		before := s.out.Proved
		if err := s.learnCall(&judgedCall{event: &tt.e, ran: true, is: replay.Verdict{Outcome: replay.Allowed}}); err != nil {
			t.Fatal(err)
		}
		if got := s.out.Proved > before; got != tt.learnt {
			t.Errorf("learnt of %+v: %v, want %v", tt.e.Decisions, got, tt.learnt)
		}
	}
}

// draftOf reads a role.
func draftOf(t *testing.T, text string) *suggest.Draft {
	t.Helper()
	source := yamldoc.Source{Name: "role.yaml"}
	if faults := source.Parse([]byte(text), yamldoc.Bounds{Bytes: 1 << 20, YAMLBytes: 1 << 20, YAMLKeys: 1000}); len(faults) > 0 {
		t.Fatal(faults)
	}
	return &suggest.Draft{Role: source.Root}
}

func TestADraftIsProvedOrLeavesItsPartWide(t *testing.T) {
	t.Parallel()
	s := newTestSuggester(t)
	for _, tt := range []struct{ name, draft, part string }{
		{"the role of today", `{toolset: [read_file], fs_reach: {read: ["${workspace}"]}}`, ""},
		{"the least one", `{toolset: [read_file], fs_reach: {read: ["${workspace}/a.txt"]}}`, ""},
		{"a tool less", `{toolset: [], fs_reach: {read: ["${workspace}"]}}`, "toolset"},
		{"an argument too narrow", `{toolset: [read_file], fs_reach: {read: ["${workspace}"]}, arguments: {read_file: {path: {enum: [b.txt]}}}}`, "arguments.read_file"},
		{"a path less", `{toolset: [read_file], fs_reach: {read: ["${workspace}/b.txt"]}}`, "fs_reach"},
		{"a path more", `{toolset: [read_file], fs_reach: {read: ["${workspace}", /srv]}}`, "fs_reach"},
		{"a fault", `{toolset: [read_file], fs_reach: {read: ["${workspace}"]}, arguments: {read_file: {nothing: {const: 1}}}}`, "arguments.read_file"},
	} {
		wide := suggest.Wide{}
		proved, err := s.proveDraft(t.Context(), draftOf(t, tt.draft), wide)
		if err != nil || proved != (tt.part == "") || len(wide) > 1 || tt.part != "" && wide[tt.part] == "" {
			t.Errorf("%s: proveDraft() = %v, %v, %v", tt.name, proved, err, wide)
		}
	}
}

// TestADraftThatGoesOnToFailIsAnError: an unproved role is never printed.
func TestADraftThatGoesOnToFailIsAnError(t *testing.T) {
	t.Parallel()
	s := newTestSuggester(t)
	for draft, said := range map[string]string{
		`{toolset: [], fs_reach: {read: ["${workspace}"]}}`:                                                         "not proved: the call",
		`{toolset: [read_file], fs_reach: {read: ["${workspace}"]}, arguments: {read_file: {nothing: {const: 1}}}}`: "does not load",
	} {
		wide := suggest.Wide{"toolset": "a", "arguments.read_file": "b"}
		if proved, err := s.proveDraft(t.Context(), draftOf(t, draft), wide); proved || err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("proveDraft(%s) = %v, %v", draft, proved, err)
		}
	}
}

// TestACallThatIsNotReplayableTellsWhatWasRead: what it touched only after untrusted content
// was read is named as such.
func TestACallThatIsNotReplayableTellsWhatWasRead(t *testing.T) {
	t.Parallel()
	told := 0
	p := newReplayer(newTestSuggester(t).rt, func(j *judgedCall) error {
		if told++; j.unknown == "" || !hasReadUntrusted(j.read) {
			t.Errorf("of a call that is not recorded whole: %q, read %v", j.unknown, j.read)
		}
		return nil
	})
	read := []sallyport.FactMark{{Fact: sallyport.FactUntrusted}}
	p.open["ended"] = &pastIntent{read: read}
	if err := p.decideOutcome(t.Context(), &audit.Event{Kind: audit.KindOutcome, CallID: "ended", ArgsDigest: "digest"}); err != nil || told != 1 {
		t.Errorf("%v, %d calls were passed on, want 1", err, told)
	}
	delete(p.open, "ended")
	p.open["open"] = &pastIntent{record: audit.Record{Kind: audit.KindIntent, Call: "open", Body: []byte("{}")}, read: read}
	if err := p.passUnfinished(); err != nil || told != 2 {
		t.Errorf("%v, %d calls were passed on, want 2", err, told)
	}
}

func TestSeqSet(t *testing.T) {
	t.Parallel()
	var s seqSet
	for _, seq := range []int64{70, 71, 1000} {
		s.add(seq)
	}
	for seq, want := range map[int64]bool{-1: false, 0: false, 6: false, 69: false, 70: true, 71: true, 72: false, 134: false, 1000: true, 1001: false, 5000: false} {
		if s.has(seq) != want {
			t.Errorf("has(%d) = %v", seq, !want)
		}
	}
}
