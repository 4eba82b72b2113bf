package conversation_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

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

func readNothing() (bool, error)   { return true, nil }
func readSomething() (bool, error) { return false, nil }

func narrow(t *testing.T, m *conversation.Memory, session string, task sallyport.Task, read func() (bool, error)) *conversation.Task {
	t.Helper()
	got, err := m.Narrow(t.Context(), session, task, read)
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
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(conversation.Task{})); diff != "" {
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
	if got, err := m.Narrow(t.Context(), "t", sallyport.Task{Words: "Pay Eve"}, func() (bool, error) { return true, broken }); !errors.Is(err, broken) || got != nil {
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
	for _, kv := range []sallyport.KV{brokenKV{}, brokenKV{text: "{"}, brokenKV{text: `{"tasks":1}`}} {
		m := conversation.New(kv)
		if got, err := m.Task(t.Context(), "s"); err == nil || got != nil {
			t.Errorf("Task() = %+v, %v, want an error", got, err)
		}
		if got, err := m.Narrow(t.Context(), "s", sallyport.Task{}, readNothing); err == nil || got != nil {
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
	if _, err := m.Narrow(t.Context(), "s", sallyport.Task{Tools: []string{"more"}}, readNothing); err == nil || !strings.Contains(err.Error(), "too often") {
		t.Errorf("the seventeenth task: %v, want an error", err)
	}
	if got, err := m.Task(t.Context(), "s"); err != nil || len(got.Tasks) != 16 {
		t.Errorf("Task() = %+v, %v", got, err)
	}
}
