package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/shadow"
	"github.com/sallyport/sallyport/store"
)

const servedText = `version: 2
state: memory
known: {names: {kind: text, list: [a]}}
personalities:
  default: {toolset: [list_files], fs_reach: {read: ["${workspace}"]}, arguments: {list_files: {glob: {known: names}}}}
`

// served is a server whose calls are judged under a second configuration.
type served struct {
	*Runtime
	t    *testing.T
	stop func()
	told *toldText
}

// toldText is what a server tells, from any goroutine.
type toldText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *toldText) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *toldText) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// openBeside opens a server whose calls are to be judged under a second configuration.
func openBeside(t *testing.T, second string) *served {
	t.Helper()
	env, told := newEnvironment(t, servedText), &toldText{}
	env.Stderr, env.Intervals = told, Intervals{Poll: time.Hour}
	if err := os.WriteFile(filepath.Join(env.Dir, "new.yaml"), []byte(second), 0o600); err != nil {
		t.Fatal(err)
	}
	rt, err := OpenForServing(t.Context(), env, nil, "new.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Close() })
	rt.Live.Store(NewLive(rt))
	return &served{Runtime: rt, t: t, told: told}
}

// begin begins to judge.
func (s *served) begin() {
	s.t.Helper()
	var err error
	if s.stop, err = s.StartShadow(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) call(glob string) {
	s.Live.Load().Call(context.Background(), localCaller("default", s.InForce().Config.Workspace), sallyport.Request{
		Tool: "list_files", Args: json.RawMessage(fmt.Sprintf(`{"glob":%q}`, glob)),
	})
}

// report stops judging and returns what was counted.
func (s *served) report() shadow.Report {
	s.t.Helper()
	s.stop()
	r, err := s.FindShadow(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	return *r
}

// TestCallsForWhichThereIsNoRoomAreNotJudged, and never count as the same.
func TestCallsForWhichThereIsNoRoomAreNotJudged(t *testing.T) {
	t.Parallel()
	s := openBeside(t, servedText+"# same\n")
	s.shadow.queue = shadow.NewQueue(2)
	for range 5 {
		s.call("a")
	}
	s.begin()
	if r := s.report(); r.Same != 2 || r.NotJudged != 3 || r.Flips+r.NotReplayable != 0 {
		t.Errorf("of 5 calls with room for 2: %+v", r)
	}
}

// TestManyCallsAtOnceAreAllCounted, each once.
func TestManyCallsAtOnceAreAllCounted(t *testing.T) {
	t.Parallel()
	s := openBeside(t, strings.Replace(servedText, "list: [a]", "list: [b]", 1))
	s.begin()
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 20 {
				s.call("a")
				s.call("c")
			}
		})
	}
	callers.Wait()
	for len(s.shadow.queue.Recorded()) > 0 { // a server that ends waits for a short time only
		time.Sleep(time.Millisecond)
	}
	r := s.report()
	if r.Same != 160 || r.Flips != 160 || r.NotJudged+r.NotReplayable != 0 || len(r.Groups) != 1 || r.Groups[0].Calls != 160 {
		t.Errorf("of 320 calls: %+v", r)
	}
	flips := 0
	for e, err := range audit.Events(t.Context(), s.State, audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != audit.KindChange {
			continue
		}
		flips++
		if e.Change.Action != actionFlip || string(e.Change.Target) != r.Shadow || !strings.Contains(string(e.Change.Detail), r.InForce) || e.Args != "" || e.CallID == "" {
			t.Errorf("the flip is recorded as %+v of %+v", e.Change, e)
		}
	}
	if flips != 160 {
		t.Errorf("%d flips are recorded, want 160", flips)
	}
	if err := s.Close(); err != nil { // which waits for what is told
		t.Error(err)
	}
	if !strings.Contains(s.told.String(), "judged 320 calls: 160 the same, 160 flipped; 0 not replayable, 0 not judged") {
		t.Errorf("the server told\n%s", s.told)
	}
}

// TestAShadowKnowsWhatSetsGrewBy, also what they grew by since it looked last.
func TestAShadowKnowsWhatSetsGrewBy(t *testing.T) {
	t.Parallel()
	s := openBeside(t, strings.Replace(servedText, "list: [a]", "list: []", 1))
	if err := s.shadow.loadShadow(t.Context(), s.InForce().Config.Digest); err != nil {
		t.Fatal(err)
	}
	s.call("a")
	s.shadow.judgeCalls(t.Context())
	if r := s.shadow.reportFor(s.InForce().Config.Digest); r.Flips != 1 {
		t.Errorf("of a call with a value that the shadow does not know: %+v", r)
	}
	kind := s.InForce().Config.Known["names"].Kind
	if _, err := known.NewGrowth(s.Settings, nil).Add(t.Context(), "names", known.Member{Value: "b", Kind: kind, By: "ann", Given: time.Now()}); err != nil {
		t.Fatal(err)
	}
	s.call("b")
	s.shadow.judgeCalls(t.Context())
	if r := s.shadow.reportFor(s.InForce().Config.Digest); r.Same != 1 || r.Flips != 1 {
		t.Errorf("of a call with a value that both know: %+v", r)
	}
}

// TestAShadowKnowsATaskSinceItLookedLast, however short ago that was.
func TestAShadowKnowsATaskSinceItLookedLast(t *testing.T) {
	t.Parallel()
	s := openBeside(t, servedText+"# same\n")
	if err := s.shadow.loadShadow(t.Context(), s.InForce().Config.Digest); err != nil {
		t.Fatal(err)
	}
	caller := localCaller("default", s.InForce().Config.Workspace)
	caller.Session = "s"
	for _, task := range []*sallyport.Task{nil, {Arguments: map[string]json.RawMessage{"list_files": json.RawMessage(`{"glob":{"const":"b"}}`)}}} {
		caller.Task = task
		s.Live.Load().Call(t.Context(), caller, sallyport.Request{Tool: "list_files", Args: json.RawMessage(`{"glob":"a"}`)})
		s.shadow.judgeCalls(t.Context())
	}
	if r := s.shadow.reportFor(s.InForce().Config.Digest); r.Same != 2 || r.Flips+r.NotReplayable != 0 {
		t.Errorf("of a call before the session was narrowed and one after: %+v", r)
	}
}

// TestWhatCannotBeRecordedDoesNotCountAsJudged.
func TestWhatCannotBeRecordedDoesNotCountAsJudged(t *testing.T) {
	t.Parallel()
	s := openBeside(t, strings.Replace(servedText, "list: [a]", "list: [b]", 1))
	s.call("a")
	if err := s.log.Close(); err != nil {
		t.Fatal(err)
	}
	s.begin()
	if r := s.report(); r.NotJudged != 1 || r.Flips != 0 {
		t.Errorf("of a flip that is not recorded: %+v", r)
	}
}

// broken is a state whose record cannot be read any more.
type broken struct{ store.State }

func (broken) Read(context.Context, audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) { yield(audit.Record{}, errors.New("broken")) }
}

// TestARecordThatCannotBeReadIsNoAgreement.
func TestARecordThatCannotBeReadIsNoAgreement(t *testing.T) {
	t.Parallel()
	s := openBeside(t, servedText+"# same\n")
	s.call("a")
	s.State = broken{s.State}
	s.begin()
	if r := s.report(); r.NotJudged != 1 || r.Same != 0 {
		t.Errorf("of a call whose record is not read: %+v", r)
	}
}

// TestNoToolReachesAShadow, as none reaches the configuration in force.
func TestNoToolReachesAShadow(t *testing.T) {
	t.Parallel()
	s := openBeside(t, servedText)
	for _, path := range []string{"new.yaml", ConfigName} {
		if full := filepath.Join(s.Env.Dir, path); !slices.Contains(s.files.Deny, full) {
			t.Errorf("%s is not among the files that no tool reaches: %q", full, s.files.Deny)
		}
	}
}
