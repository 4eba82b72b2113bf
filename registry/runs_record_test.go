package registry_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/registry"
)

// stuck is a recorder that keeps nothing for as long as it may take.
type stuck struct{ asked atomic.Int32 }

func (s *stuck) Record(ctx context.Context, _ *audit.Event) error {
	s.asked.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// TestEndsWaitForNoRecord revokes a principal of whom several things run, while no record
// can be kept: all of them end at once.
func TestEndsWaitForNoRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const several = 4
		c, s := &changing{}, &stuck{}
		runs := registry.NewRuns(&registry.RunsOptions{Switches: c, Standing: c, Recorder: s, Pause: runsPause})
		g := &gate{t: t, recorder: &recorder{}}
		var err error
		g.Registry, err = registry.New(&sallyport.Backends{}, &registry.Options{Recorder: g.recorder, Switches: c, Standing: c, Runs: runs})
		if err != nil {
			t.Fatal(err)
		}
		var ended atomic.Int32
		g.add(sallyport.Tool{Name: "leaves", Schema: open, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			c.Outlive("something", false, func(error) { ended.Add(1) })
			return sallyport.OK("left"), nil
		}})
		for range several {
			if res := call(g, "leaves", `{}`); !res.OK {
				t.Fatal(res)
			}
		}
		c.set(func(c *changing) { c.revoked = g.caller().Principal.Name })
		time.Sleep(2 * runsPause)
		synctest.Wait()
		if n, records := ended.Load(), s.asked.Load(); n != several || records != several {
			t.Errorf("%d of %d have ended, %d records were begun", n, several, records)
		}
		begun := time.Now()
		runs.Close()
		if passed := time.Since(begun); passed > time.Minute || passed == 0 {
			t.Errorf("the end waited for the records for %s", passed)
		}
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
