package scoped_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/tracing"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// TestAChildIsASpanOfItsCall names the program and how it ended, and nothing that an agent
// writes; what is refused is no child.
func TestAChildIsASpanOfItsCall(t *testing.T) {
	t.Parallel()
	runner := &scopedtest.Runner{Play: func(_ context.Context, s scopedtest.Spawned) (sallyport.ProcessResult, error) {
		res := sallyport.ProcessResult{Level: sallyport.LevelFull, Stdout: []byte("secret")}
		switch s.Args[0] {
		case "secret-3":
			res.ExitCode = 3
		case "secret-slow":
			res.ExitCode, res.TimedOut = 137, true
		case "secret-refused":
			return sallyport.ProcessResult{}, &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: "secret"}
		case "secret-broken":
			return sallyport.ProcessResult{}, fmt.Errorf("secret")
		}
		return res, nil
	}}
	c, _, _ := bind(t, &sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: []string{"git", "/secret/bin/make"}}}, &sallyport.Backends{Process: runner})
	var got *tracing.Call
	ctx := tracing.NewTracer(1, false, func(c *tracing.Call) { got = c }).BeginCall(t.Context())
	o := &sallyport.SpawnOptions{Dir: "/secret", Env: map[string]string{"SECRET": "secret"}, Stdin: []byte("secret"), Timeout: time.Second}
	for _, arg := range []string{"secret", "secret-3", "secret-slow", "secret-refused", "secret-broken"} {
		_, _ = c.Process.Spawn(ctx, "git", []string{arg}, o)
	}
	_, _ = c.Process.Spawn(ctx, "/secret/bin/make", []string{"secret"}, nil)
	_, _ = c.Process.Spawn(ctx, "secret-program", []string{"secret"}, nil)
	if child, err := c.Process.Start(ctx, "git", []string{"secret-3"}, nil); err == nil {
		_, _ = child.Wait()
	}
	tracing.CallOf(ctx).EndCall()
	var spans []string
	for _, s := range got.Spans()[1:] {
		line := s.Name
		if s.Parent != got.Root.ID || s.Kind != tracing.KindClient {
			line += " of another call"
		}
		for _, a := range s.Attrs {
			line += fmt.Sprintf(" %s=%s", a.Key, a.Text)
			if a.Text == "" {
				line += fmt.Sprint(a.Number)
			}
		}
		spans = append(spans, strings.NewReplacer("process.executable.name", "name", "process.exit.code", "code", "sallyport.child.level", "level", "error.type", "error").Replace(line))
	}
	want := []string{
		"git name=git level=full code=0", "git name=git level=full code=3 error=3", "git name=git level=full error=timeout", "git name=git level=none error=not_available",
		"git name=git level=none error=_OTHER", "make name=make level=full code=0", "git name=git level=none",
	}
	if d := cmp.Diff(want, spans); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
}
