package terminal

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

// TestClose ends what runs, refuses what comes later, and waits.
func TestClose(t *testing.T) {
	t.Parallel()
	f := newFamily(t, nil)
	var ended atomic.Int32
	s := session{t, f, "a", func(ctx context.Context, _ scopedtest.Spawned) (sallyport.ProcessResult, error) {
		<-ctx.Done()
		ended.Add(1)
		return sallyport.ProcessResult{}, nil
	}}
	for range 5 {
		s.start("serve")
	}
	if err := f.Close(); err != nil || ended.Load() != 5 {
		t.Errorf("Close = %v with %d ended, want 5", err, ended.Load())
	}
	if err := f.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	expect.Err(t, s.use("process_start", map[string]any{"command": "x"}), sallyport.CodeExecutionFailed, "stopping")
}

// fakeChild is a child for tests with a clock of their own, in which no
// accessor can be made.
type fakeChild struct {
	done chan struct{}
	once sync.Once
}

func (c *fakeChild) Done() <-chan struct{} { return c.done }

func (c *fakeChild) Wait() (sallyport.ProcessResult, error) {
	<-c.done
	return sallyport.ProcessResult{ExitCode: 143}, nil
}

func (c *fakeChild) Stop(time.Duration) { c.once.Do(func() { close(c.done) }) }

// begin puts a child into a table.
func begin(t *testing.T, table *processTable) (*backgroundProcess, *fakeChild) {
	t.Helper()
	p, err := table.reserveSlot("p", "s", "", "serve")
	if err != nil {
		t.Fatal(err)
	}
	child := &fakeChild{done: make(chan struct{})}
	if err := table.startChild(p, func() (sallyport.Child, error) { return child, nil }); err != nil {
		t.Fatal(err)
	}
	return p, child
}

func ended(c *fakeChild) bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func TestIdleProcessEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := newProcessTable()
		defer table.close()
		p, child := begin(t, table)
		for range 5 { // Each look gives it the whole time again.
			time.Sleep(idleTime - time.Minute)
			if _, err := table.findOwned("s", p.id); err != nil || ended(child) {
				t.Fatalf("find = %v, ended %v, want a running process", err, ended(child))
			}
			synctest.Wait()
		}
		time.Sleep(idleTime + time.Minute)
		synctest.Wait()
		if !ended(child) {
			t.Fatal("no caller asked, and it still runs")
		}
		if got := table.stateOf(p).describe(); got != "ended with exit code 143: no caller asked about it for 30 minutes" {
			t.Errorf("words = %q", got)
		}
		time.Sleep(2 * idleTime)
		synctest.Wait()
		if _, err := table.findOwned("s", p.id); err == nil || len(table.all) != 0 {
			t.Errorf("find = %v with %d kept, want it to be forgotten", err, len(table.all))
		}
	})
}

func TestReadWaitsForOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := newProcessTable()
		defer table.close()
		p, child := begin(t, table)
		start := time.Now()
		if text, _, err := table.readOutput(t.Context(), p, 0, 20*time.Second); len(text) != 0 || err != nil || time.Since(start) != 20*time.Second {
			t.Errorf("read = %q, %v after %v, want nothing after 20 s", text, err, time.Since(start))
		}
		go func() {
			time.Sleep(time.Second)
			_, _ = p.out.Write([]byte("x"))
		}()
		start = time.Now()
		if text, _, err := table.readOutput(t.Context(), p, 0, 20*time.Second); string(text) != "x" || err != nil || time.Since(start) != time.Second {
			t.Errorf("read = %q, %v after %v, want x after 1 s", text, err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := table.readOutput(ctx, p, 1, 20*time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("read with an ended context = %v", err)
		}
		time.AfterFunc(time.Second, func() { child.Stop(0) })
		start = time.Now()
		if text, _, err := table.readOutput(t.Context(), p, 1, 20*time.Second); len(text) != 0 || err != nil || time.Since(start) != time.Second {
			t.Errorf("read = %q, %v after %v, want nothing when it ended", text, err, time.Since(start))
		}
	})
}

// TestCloseWhileAProcessStarts waits for the start and ends what it brought.
func TestCloseWhileAProcessStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		table := newProcessTable()
		p, err := table.reserveSlot("p", "s", "", "serve")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := table.findOwned("s", p.id); err == nil || len(table.listSession("s")) != 0 {
			t.Error("a process that only starts was found")
		}
		child := &fakeChild{done: make(chan struct{})}
		go func() {
			_ = table.startChild(p, func() (sallyport.Child, error) {
				time.Sleep(time.Second)
				return child, nil
			})
		}()
		table.close()
		if !ended(child) {
			t.Error("close returned before the process was gone")
		}
	})
}
