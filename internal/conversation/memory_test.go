package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/store/memory"
)

func newKV(t *testing.T) sallyport.KV {
	t.Helper()
	s, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	kv, err := s.KV(t.Context(), "tasks")
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func readNothing() (bool, string, error)   { return true, "", nil }
func readSomething() (bool, string, error) { return false, "", nil }

func narrow(t *testing.T, m *conversation.Memory, session string, task sallyport.Task, read func() (bool, string, error)) *conversation.Task {
	t.Helper()
	got, err := m.Narrow(t.Context(), session, "call", task, read)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestNarrowingNeverWidens: every task that a session was given stays, and only the words
// of the first count.
func TestNarrowingNeverWidens(t *testing.T) {
	t.Parallel()
	m := conversation.New(nil)
	first := sallyport.Task{Words: "Pay Ann", Tools: []string{"pay"}}
	second := sallyport.Task{Words: "Pay Eve", Arguments: map[string]json.RawMessage{"pay": json.RawMessage(`{"amount":{"maximum":5}}`)}}
	narrow(t, m, "s", first, readNothing)
	got := narrow(t, m, "s", second, readNothing)
	want := &conversation.Task{Words: "Pay Ann", Tasks: []sallyport.Task{first, second}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(conversation.Task{}), cmpopts.IgnoreTypes([]conversation.Step{})); diff != "" {
		t.Errorf("Narrow() (-want +got):\n%s", diff)
	}
	if got.Spoken().Hold(effect.Name, "eve") || !got.Spoken().Hold(effect.Name, "ann") {
		t.Error("the words of a later task count")
	}
	if again := narrow(t, m, "s", first, readNothing); len(again.Tasks) != 2 {
		t.Errorf("the same task again: %+v", again)
	}
	if other, err := m.Task(t.Context(), "other"); other != nil || err != nil {
		t.Errorf("another session has the task %+v, %v", other, err)
	}
}

// TestWordsCountBeforeAnythingUntrusted, and never after it.
func TestWordsCountBeforeAnythingUntrusted(t *testing.T) {
	t.Parallel()
	m := conversation.New(nil)
	got := narrow(t, m, "s", sallyport.Task{Words: "Pay Eve"}, readSomething)
	if got.Words != "" || got.Spoken().Hold(effect.Name, "eve") || len(got.Tasks) != 1 {
		t.Errorf("words after untrusted content: %+v", got)
	}
	broken := errors.New("broken")
	if got, err := m.Narrow(t.Context(), "t", "call", sallyport.Task{Words: "Pay Eve"}, func() (bool, string, error) { return true, "", broken }); !errors.Is(err, broken) || got != nil {
		t.Errorf("when that cannot be told: %+v, %v", got, err)
	}
	if got, err := m.Task(t.Context(), "t"); got != nil || err != nil {
		t.Errorf("what failed was kept: %+v, %v", got, err)
	}
}

// TestATaskSurvivesItsProcess: another memory on the same store knows it, and its words.
func TestATaskSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	kv := newKV(t)
	narrow(t, conversation.New(kv), "s", sallyport.Task{Words: "Pay Ann", Tools: []string{"pay"}}, readNothing)
	m := conversation.New(kv)
	got, err := m.Task(t.Context(), "s")
	if err != nil || got == nil || got.Words != "Pay Ann" || !got.Spoken().Hold(effect.Name, "ann") || len(got.Tasks) != 1 {
		t.Fatalf("Task() = %+v, %v", got, err)
	}
	if got := narrow(t, m, "s", sallyport.Task{Words: "Pay Eve"}, readNothing); got.Words != "Pay Ann" || len(got.Tasks) != 2 {
		t.Errorf("narrowed in another process: %+v", got)
	}
}

// brokenKV fails.
type brokenKV struct {
	sallyport.KV
	text string
}

var errStore = errors.New("the store is gone")

func (b brokenKV) List(_ context.Context, prefix string) ([]string, error) {
	if b.text == "" {
		return nil, errStore
	}
	return []string{prefix + "a"}, nil
}

func (b brokenKV) Get(context.Context, string) (string, bool, error) {
	if b.text != "" {
		return b.text, true, nil
	}
	return "", false, errStore
}

// TestAStoreThatFailsNarrowsNothing: what cannot be kept or read is an error, never a
// session without a task.
func TestAStoreThatFailsNarrowsNothing(t *testing.T) {
	t.Parallel()
	for _, kv := range []sallyport.KV{brokenKV{}, brokenKV{text: "{"}, brokenKV{text: `{"task":1}`}} {
		m := conversation.New(kv)
		if got, err := m.Task(t.Context(), "s"); err == nil || got != nil {
			t.Errorf("Task() = %+v, %v, want an error", got, err)
		}
		if got, err := m.Narrow(t.Context(), "s", "call", sallyport.Task{}, readNothing); err == nil || got != nil {
			t.Errorf("Narrow() = %+v, %v, want an error", got, err)
		}
	}
}

// TestASessionIsNarrowedABoundedNumberOfTimes.
func TestASessionIsNarrowedABoundedNumberOfTimes(t *testing.T) {
	t.Parallel()
	m := conversation.New(nil)
	for i := range 16 {
		narrow(t, m, "s", sallyport.Task{Tools: []string{fmt.Sprint("tool", i)}}, readNothing)
	}
	if _, err := m.Narrow(t.Context(), "s", "call", sallyport.Task{Tools: []string{"more"}}, readNothing); err == nil || !strings.Contains(err.Error(), "too often") {
		t.Errorf("the seventeenth task: %v, want an error", err)
	}
	if got, err := m.Task(t.Context(), "s"); err != nil || len(got.Tasks) != 16 {
		t.Errorf("Task() = %+v, %v", got, err)
	}
}

// TestATaskAsOfAPastCallIsThatOfItsTime: what narrowed the session later does not count,
// and what did so while the call ran may or may not have.
func TestATaskAsOfAPastCallIsThatOfItsTime(t *testing.T) {
	t.Parallel()
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	task := &conversation.Task{
		Tasks: []sallyport.Task{{Tools: []string{"a"}}, {Tools: []string{"b"}}},
		Steps: []conversation.Step{{Call: "first", Time: at(10)}, {Call: "second", Time: at(20)}},
	}
	for _, tt := range []struct {
		call         string
		began, ended int
		want         int
		sure         bool
	}{
		{"early", 1, 2, 0, true},
		{"first", 9, 11, 1, true},
		{"beside the first", 9, 11, 0, false},
		{"between", 12, 13, 1, true},
		{"second", 19, 21, 2, true},
		{"over the second", 15, 30, 0, false},
		{"late", 30, 31, 2, true},
	} {
		got, sure := task.AsOf(tt.call, at(tt.began), at(tt.ended))
		n := 0
		if got != nil {
			n = len(got.Tasks)
		}
		if n != tt.want || sure != tt.sure {
			t.Errorf("AsOf(%s) = %d tasks, %v, want %d, %v", tt.call, n, sure, tt.want, tt.sure)
		}
	}
	if got, sure := (*conversation.Task)(nil).AsOf("x", at(1), at(2)); got != nil || !sure {
		t.Errorf("AsOf() of no task = %+v, %v, want none", got, sure)
	}
	if _, sure := (&conversation.Task{Tasks: task.Tasks}).AsOf("x", at(1), at(2)); sure {
		t.Error("AsOf() of a task without steps is sure")
	}
}
