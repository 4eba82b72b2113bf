package conversation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/conversation"
)

// slowKV is a store that other calls come between.
type slowKV struct {
	sallyport.KV
	mu     sync.Mutex
	values map[string]string
}

func (s *slowKV) Get(_ context.Context, key string) (string, bool, error) {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	return v, ok, nil
}

func (s *slowKV) Set(_ context.Context, key, value string, _ time.Duration) error {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
	return nil
}

func (s *slowKV) List(_ context.Context, prefix string) (keys []string, _ error) {
	time.Sleep(time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.values {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// TestProcessesThatNarrowAtOnceAllCount: each has its own memory over one store.
func TestProcessesThatNarrowAtOnceAllCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowKV{values: map[string]string{}}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				task := sallyport.Task{Words: fmt.Sprintf("Pay Ann%d", i), Tools: []string{fmt.Sprint(i)}}
				if _, err := conversation.New(store).Narrow(t.Context(), "s", "call", task, readNothing); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		got, err := conversation.New(store).Task(t.Context(), "s")
		if err != nil || got == nil || len(got.Tasks) != 8 || len(got.Steps) != 8 {
			t.Fatalf("Task() = %+v, %v, want all of 8", got, err)
		}
		if got.Words != got.Tasks[0].Words {
			t.Errorf("the words %q count, want those of the first task, %q", got.Words, got.Tasks[0].Words)
		}
	})
}

// TestTasksAtOnceAllCount: of calls at once, each narrows the session.
func TestTasksAtOnceAllCount(t *testing.T) {
	t.Parallel()
	m := conversation.New(&slowKV{values: map[string]string{}})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := m.Narrow(t.Context(), "s", "call", sallyport.Task{Tools: []string{fmt.Sprint(i)}}, readNothing); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := m.Task(t.Context(), "s"); err != nil || got == nil || len(got.Tasks) != 8 {
		t.Errorf("Task() = %+v, %v, want all of 8", got, err)
	}
}

// TestATaskOfAnotherProcessCounts: a session without a task that another process narrows
// is narrow here, too, and stays so when the store forgets it.
func TestATaskOfAnotherProcessCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowKV{values: map[string]string{}}
		here, there := conversation.New(store), conversation.New(store)
		count := func() int {
			t.Helper()
			time.Sleep(time.Second)
			got, err := here.Task(t.Context(), "s")
			if err != nil {
				t.Fatal(err)
			}
			if got == nil {
				return 0
			}
			return len(got.Tasks)
		}
		if n := count(); n != 0 {
			t.Fatalf("%d tasks before there is one", n)
		}
		narrow(t, there, "s", sallyport.Task{Tools: []string{"pay"}}, readNothing)
		if n := count(); n != 1 {
			t.Errorf("%d tasks, want that of the other process", n)
		}
		narrow(t, here, "s", sallyport.Task{Tools: []string{"look"}}, readNothing)
		clear(store.values)
		if n := count(); n != 2 {
			t.Errorf("%d tasks once the store forgot them, want 2", n)
		}
	})
}

// TestWordsSayAfterWhatTheyCame, also in another process and after the session was
// narrowed further.
func TestWordsSayAfterWhatTheyCame(t *testing.T) {
	t.Parallel()
	store := newKV(t)
	read := func() (bool, string, error) { return true, "read by another session", nil }
	narrow(t, conversation.New(store), "s", sallyport.Task{Words: "pay Ann"}, read)
	narrow(t, conversation.New(store), "s", sallyport.Task{Tools: []string{"pay"}}, readNothing)
	got, err := conversation.New(store).Task(t.Context(), "s")
	if err != nil || got == nil || got.Words != "pay Ann" || got.After != "read by another session" || len(got.Tasks) != 2 {
		t.Fatalf("Task() = %+v, %v", got, err)
	}
	then, sure := got.AsOf("call", time.Now(), time.Now())
	if !sure || then.After != got.After || got.With(sallyport.Task{}).After != got.After {
		t.Errorf("AsOf() = %+v, %v, want the same", then, sure)
	}
}
