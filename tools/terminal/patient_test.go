package terminal

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/internal/expect"
)

// TestALongRunBecomesATask after two seconds, and a short one never.
func TestALongRunBecomesATask(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]map[string]any{
		"terminal": {"command": "make"}, "run_code": {"code": "1", "language": "python"}, "run_tests": {"project": "go"},
	} {
		for _, tt := range []struct {
			runs  time.Duration
			times int
		}{{2*time.Second - 1, 0}, {2*time.Second + 1, 1}} {
			synctest.Test(t, func(t *testing.T) {
				f := newFamily(t, nil)
				tl := tool(t, f, name)
				c := newCall(t, tl, scopedtest.Options{Files: map[string]string{"go.mod": "module a"}, Spawn: func(context.Context, scopedtest.Spawned) (sallyport.ProcessResult, error) {
					time.Sleep(tt.runs)
					return sallyport.ProcessResult{Level: sallyport.LevelFull}, nil
				}}, in)
				times := 0
				c.Detach = func() { times++ }
				r, err := tl.Run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				expect.OK(t, r)
				time.Sleep(time.Minute)
				synctest.Wait()
				if times != tt.times || tl.Tasks != sallyport.TaskOptional {
					t.Errorf("%s that runs for %v detached %d times, want %d", name, tt.runs, times, tt.times)
				}
			})
		}
	}
}
