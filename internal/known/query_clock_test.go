package known

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/internal/effect"
)

// A machine that slept, and one whose clock was set back, does not take members for fresh;
// they are read again at once.
func TestMembersAreAsOldAsEitherClockSays(t *testing.T) {
	for name, shift := range map[string]time.Duration{"it slept": -time.Hour, "its clock was set back": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var read atomic.Int32
				r := newQueryReader(&Query{Refresh: 5 * time.Minute, Read: func(context.Context) ([]string, error) {
					read.Add(1)
					return []string{"DE02120300000000202051"}, nil
				}}, effect.Account)
				ctx, stop := context.WithCancel(t.Context())
				go r.readAgain(ctx)
				if _, _, err := r.current(ctx); err != nil {
					t.Fatal(err)
				}
				r.mu.Lock()
				r.wall = r.wall.Add(shift)
				r.mu.Unlock()
				if _, _, err := r.current(ctx); !errors.Is(err, ErrUnread) {
					t.Errorf("current() = %v, want that it cannot be read", err)
				}
				synctest.Wait()
				if _, _, err := r.current(ctx); err != nil || read.Load() != 2 {
					t.Errorf("current() = %v after %d readings, want the second", err, read.Load())
				}
				stop()
				synctest.Wait()
			})
		})
	}
}

// A clock that is put right by little changes nothing.
func TestAClockThatIsPutRightChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newQueryReader(&Query{Refresh: 5 * time.Minute, Read: func(context.Context) ([]string, error) { return nil, nil }}, effect.Account)
		close(r.tried)
		if err := r.readOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, shift := range []time.Duration{time.Second, -time.Second} {
			r.wall = r.last.At.Round(0).Add(shift)
			if _, _, err := r.current(t.Context()); err != nil {
				t.Errorf("current() = %v with a clock that differs by %v", err, shift)
			}
		}
	})
}
