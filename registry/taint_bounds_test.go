package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
)

// looked is a context whose deadline has passed after some looks at it; negative for never.
type looked struct {
	context.Context
	looks atomic.Int64
	until int64
}

func (l *looked) Err() error {
	if n := l.looks.Add(1); l.until >= 0 && n > l.until {
		return context.DeadlineExceeded
	}
	return nil
}

// TestADeadlineEndsTheSearchInArguments: a call is given as many looks at its deadline as one
// with short arguments takes, and some more. The deadline passes while its own are looked
// through, so that the tool does not run.
func TestADeadlineEndsTheSearchInArguments(t *testing.T) {
	t.Parallel()
	f := newFlows(t, nil, nil)
	for i := range 20 {
		f.let("p", fmt.Sprint("s", i), "mcp__trivia__fact")
	}
	f.let("p", "s", "read_file")
	send := func(ctx context.Context, body string) sallyport.Result {
		c := f.caller()
		c.Principal.Name, c.Session, c.Platform = "p", "s", sallyport.PlatformMCP
		args, err := json.Marshal(map[string]string{"x": body})
		if err != nil {
			t.Fatal(err)
		}
		return f.Call(ctx, c, sallyport.Request{Tool: "send", Args: args})
	}
	short := &looked{Context: t.Context(), until: -1}
	if res := send(short, "a short letter"); !res.OK || f.ran["send"].Load() != 1 {
		t.Fatalf("send = %+v, want it to run", res)
	}
	long := &looked{Context: t.Context(), until: short.looks.Load() + 4}
	res := send(long, strings.Repeat("lorem ipsum dolor sit amet consectetur 12345678 a@b.example ", 1<<14))
	if res.OK || !strings.Contains(res.Error, "the caller's deadline passed") || f.ran["send"].Load() != 1 {
		t.Errorf("send = %+v, want it to end at its deadline and not to run", res)
	}
}
