package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

// server writes what is sent to it and ends when it is stopped.
func server(lines <-chan string) play {
	return func(ctx context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		for {
			select {
			case l, ok := <-lines:
				if !ok {
					return sallyport.ProcessResult{ExitCode: 4, Level: sallyport.LevelFull}, nil
				}
				_, _ = s.Options.Output.Write([]byte(l))
			case <-ctx.Done():
				return sallyport.ProcessResult{ExitCode: 143, Level: sallyport.LevelFull}, nil
			}
		}
	}
}

// session calls the tools of one family in one session.
type session struct {
	t    testing.TB
	f    *Family
	name string
	play play
}

func (s session) use(name string, in map[string]any) sallyport.Result {
	s.t.Helper()
	r, _ := use(s.t, s.f, name, scopedtest.Options{Session: s.name, Spawn: s.play}, in)
	return r
}

// start starts a process and returns its id.
func (s session) start(command string) string {
	s.t.Helper()
	r := s.use("process_start", map[string]any{"command": command})
	expect.OK(s.t, r)
	return r.Structured["id"].(string)
}

func TestBackgroundProcess(t *testing.T) {
	t.Parallel()
	lines := make(chan string)
	s := session{t, newFamily(t, nil), "a", server(lines)}
	id := s.start("serve")
	lines <- "one\n"
	r := s.use("process_output", map[string]any{"id": id, "wait_seconds": 30})
	expect.OK(t, r, id+": running\n\none")
	if r.Source != "cmd:serve" {
		t.Errorf("source = %q, want cmd:serve", r.Source)
	}
	want := map[string]any{"id": id, "running": true, "offset": int64(0), "nextOffset": int64(4), "outputBytes": int64(4)}
	if d := cmp.Diff(want, r.Structured); d != "" {
		t.Errorf("structured (-want +got):\n%s", d)
	}
	expect.OK(t, s.use("process_output", map[string]any{"id": id}), "(no new output)")
	lines <- "two\n"
	expect.OK(t, s.use("process_output", map[string]any{"id": id, "wait_seconds": 30}), "running\n\ntwo")
	expect.OK(t, s.use("process_output", map[string]any{"id": id, "offset": 1}), "running\n\nne\ntwo")
	expect.OK(t, s.use("process_output", map[string]any{"id": id, "offset": -2}), "running\n\no")
	expect.OK(t, s.use("process_list", map[string]any{}), id+": running: serve")
	close(lines)
	expect.OK(t, s.use("process_output", map[string]any{"id": id, "wait_seconds": 30}), "(no new output)")
	p, err := s.f.table.findOwned(sallyport.SessionKey(sallyport.LocalPrincipal, "a"), id)
	if err != nil {
		t.Fatal(err)
	}
	for !s.f.table.stateOf(p).done { // The watcher sees the end a moment later.
		time.Sleep(time.Millisecond)
	}
	expect.OK(t, s.use("process_list", map[string]any{}), id+": exited with exit code 4: serve")
	expect.OK(t, s.use("process_output", map[string]any{"id": id, "offset": 0}), id+": exited with exit code 4\n\none\ntwo")
}

func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 1)
	s := session{t, newFamily(t, nil), "a", server(lines)}
	id := s.start("serve")
	lines <- strings.Repeat("x", 100_000) + "\nlast words\n"
	expect.OK(t, s.use("process_output", map[string]any{"id": id, "offset": 99_999, "wait_seconds": 30}), "last words")
	expect.OK(t, s.use("process_output", map[string]any{"id": id, "offset": 0}), " more bytes from offset ")
	r := s.use("process_stop", map[string]any{"id": id})
	expect.OK(t, r, id+": ended with exit code 143: process_stop\n", " are not shown\n", "\nlast words")
	if r.Structured["exitCode"] != 143 || r.Structured["running"] != false {
		t.Errorf("structured = %v, want an end with 143", r.Structured)
	}
	expect.OK(t, s.use("process_stop", map[string]any{"id": id}), "ended with exit code 143: process_stop")
	expect.OK(t, s.use("process_output", map[string]any{"id": id, "offset": -11}), "last words")
}

func TestAnotherSessionSeesNothing(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	a := session{t, f, "a", server(make(chan string))}
	b := session{t, f, "b", nil}
	id := a.start("serve")
	for _, name := range []string{"process_output", "process_stop"} {
		got := b.use(name, map[string]any{"id": id})
		never := b.use(name, map[string]any{"id": "p0000000000000000"})
		expect.Err(t, got, sallyport.CodeInputInvalid)
		if got.Error != strings.ReplaceAll(never.Error, "p0000000000000000", id) {
			t.Errorf("%s of another session's id = %q, of an unknown one %q", name, got.Error, never.Error)
		}
	}
	expect.OK(t, b.use("process_list", map[string]any{}), "no background processes")
	expect.OK(t, a.use("process_output", map[string]any{"id": id}), "running")
}

func TestIDsAreNotGuessable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		id := newID()
		if len(id) != 17 || seen[id] {
			t.Fatalf("newID = %q, want 80 bits that do not repeat", id)
		}
		seen[id] = true
	}
}

func TestNumberOfProcesses(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	lines := make(chan string)
	a := session{t, f, "a", server(lines)}
	var ids []string
	for range maxPerSession {
		ids = append(ids, a.start("serve"))
	}
	expect.Err(t, a.use("process_start", map[string]any{"command": "serve"}), sallyport.CodeExecutionFailed, "8 background processes of this session")
	expect.OK(t, a.use("process_stop", map[string]any{"id": ids[3]}))
	a.start("serve") // It takes the place of the stopped one,
	expect.Err(t, a.use("process_output", map[string]any{"id": ids[3]}), sallyport.CodeInputInvalid)
	expect.Err(t, a.use("process_start", map[string]any{"command": "serve"}), sallyport.CodeExecutionFailed)
}

// TestA22_OnePrincipalDoesNotTakeEveryPlace has principals with many sessions
// each start as many processes as they may.
func TestA22_OnePrincipalDoesNotTakeEveryPlace(t *testing.T) {
	t.Parallel()
	table := newProcessTable()
	t.Cleanup(table.close)
	all := func(principal string) (n int) {
		for ; n <= maxProcesses; n++ {
			p, err := table.reserveSlot(principal, fmt.Sprint(principal, n/maxPerSession), "", "serve")
			if err != nil {
				break
			}
			child := &fakeChild{done: make(chan struct{})}
			if err := table.startChild(p, func() (sallyport.Child, error) { return child, nil }); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	for i, want := range []int{32, 16, 8, 4, 2, 1, 1, 0} {
		if got := all(fmt.Sprint("p", i)); got != want {
			t.Errorf("principal %d started %d processes, want %d", i+1, got, want)
		}
	}
	// The place of one that has ended is there for others.
	table.stopChild(table.listSession("p00")[0], "test", 0)
	if got := all("p8"); got != 1 {
		t.Errorf("a principal without processes started %d, want the place of one that ended", got)
	}
}

func TestRefusedStartTakesNoPlace(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	tl := tool(t, f, "process_start")
	for range 2 * maxPerSession {
		c := newCall(t, tl, scopedtest.Options{}, map[string]any{"command": "serve"})
		c.Process = refusing{c.Process, shellNames()}
		if _, err := tl.Run(t.Context(), c); !errors.Is(err, sallyport.ErrBinaryNotAllowed) {
			t.Fatalf("process_start = %v, want a refusal", err)
		}
	}
	r, c := use(t, f, "process_start", scopedtest.Options{}, map[string]any{"command": "serve", "cwd": "."})
	expect.OK(t, r)
	s := spawned(t, c)
	if d := cmp.Diff([]string{"bash", "-c", "--", "serve"}, argv(s)); d != "" || s.Options.Timeout != maxLife || s.Options.Dir != "." {
		t.Errorf("command (-want +got):\n%s, options %+v", d, s.Options)
	}
	if len(f.table.all) != 1 {
		t.Errorf("%d places are taken, want 1", len(f.table.all))
	}
}

func TestFailedProcess(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	for err, want := range map[error]string{
		errors.New("open /var/lib/secret: no"):               "ended: it could not be run",
		sallyport.Err("the memory limit ended it", "").Err(): "ended: the memory limit ended it",
	} {
		if got := (processState{done: true, err: err}).describe(); got != want {
			t.Errorf("words of %v = %q, want %q", err, got, want)
		}
	}
	// A runner says that a child was ended, also when we asked for it.
	stopped := processState{done: true, ended: "process_stop", err: errors.New("bash was ended"), result: sallyport.ProcessResult{ExitCode: 143}}
	if got, want := stopped.describe(), "ended with exit code 143: process_stop"; got != want {
		t.Errorf("words = %q, want %q", got, want)
	}
	s := session{t, f, "a", func(context.Context, scopedtest.Spawned) (sallyport.ProcessResult, error) {
		return sallyport.ProcessResult{}, errors.New("open /var/lib/secret: no")
	}}
	id := s.start("x")
	if r := s.use("process_stop", map[string]any{"id": id}); strings.Contains(r.Value, "secret") {
		t.Errorf("value = %q, names a file of the runtime", r.Value)
	}
}

// TestManyCallsAtOnce is for the race detector.
func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	noisy := func(ctx context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		for ctx.Err() == nil {
			_, _ = s.Options.Output.Write([]byte("tick\n"))
			time.Sleep(time.Millisecond)
		}
		return sallyport.ProcessResult{}, nil
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s := session{t, f, fmt.Sprint(i % 3), noisy}
			for range 10 {
				r := s.use("process_start", map[string]any{"command": "x"})
				if !r.OK {
					continue // The session is full.
				}
				id := r.Structured["id"].(string)
				_ = s.use("process_output", map[string]any{"id": id, "wait_seconds": 1})
				_ = s.use("process_list", map[string]any{})
				_ = s.use("process_stop", map[string]any{"id": id})
			}
		})
	}
	wg.Wait()
	f.table.mu.Lock()
	defer f.table.mu.Unlock()
	per := map[string]int{}
	for _, p := range f.table.all {
		per[p.session]++
	}
	for s, n := range per {
		if n > maxPerSession {
			t.Errorf("session %s has %d processes", s, n)
		}
	}
}

func TestOffsetsAreJSONIntegers(t *testing.T) {
	t.Parallel()
	var in outputInput
	if err := json.Unmarshal([]byte(`{"id":"p","offset":-5}`), &in); err != nil || in.Offset == nil || *in.Offset != -5 {
		t.Errorf("offset = %v, %v", in.Offset, err)
	}
}
