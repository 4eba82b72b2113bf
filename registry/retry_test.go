package registry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

func TestTransientFailuresOfIdempotentToolsAreRetried(t *testing.T) {
	t.Parallel()
	reset := &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	coded := &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: "h could not be reached", Err: syscall.ECONNREFUSED}
	tests := []struct {
		name   string
		steady bool // not idempotent
		errs   []error
		want   int // runs
		ok     bool
	}{
		{name: "success", errs: []error{nil}, want: 1, ok: true},
		{name: "one reset", errs: []error{reset, nil}, want: 2, ok: true},
		{name: "two kinds", errs: []error{coded, fmt.Errorf("body: %w", io.ErrUnexpectedEOF), nil}, want: 3, ok: true},
		{name: "timeout", errs: []error{os.ErrDeadlineExceeded, nil}, want: 2, ok: true},
		{name: "for ever", errs: []error{reset, reset, reset, nil}, want: 3},
		{name: "not idempotent", steady: true, errs: []error{reset, nil}, want: 1},
		{name: "refusal", errs: []error{sallyport.HostError("h", ""), nil}, want: 1},
		{name: "bad input around a reset", errs: []error{&sallyport.Error{Code: sallyport.CodeInputInvalid, Err: reset}, nil}, want: 1},
		{name: "unknown name", errs: []error{&net.DNSError{Err: "no such host", IsNotFound: true}, nil}, want: 1},
		{name: "missing file", errs: []error{sallyport.FileNotFound("/a"), nil}, want: 1},
		{name: "plain error", errs: []error{errors.New("no"), nil}, want: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				rec := &recorder{}
				r, err := registry.New(nil, &registry.Options{Recorder: rec})
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Register(sallyport.Tool{Name: "tool", Idempotent: !tt.steady, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
					if c.Tool != "tool" {
						t.Error("a run sees what an earlier one did to its call")
					}
					c.Tool = "spoiled"
					runs++
					return sallyport.OK("v"), tt.errs[runs-1]
				}}); err != nil {
					t.Fatal(err)
				}
				res := r.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "tool"})
				if runs != tt.want || res.OK != tt.ok {
					t.Errorf("%d runs, ok = %v, want %d, %v", runs, res.OK, tt.want, tt.ok)
				}
				list := rec.last().Decisions
				if why := list[len(list)-1].Why; strings.Contains(why, fmt.Sprintf("run %d times", runs)) != (runs > 1) {
					t.Errorf("the record says %q after %d runs", why, runs)
				}
				if n := len(rec.kinds()); n != 2 {
					t.Errorf("%d records, want one intent and one outcome", n)
				}
				if err := r.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestARetryEndsWithTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := registry.New(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		if err := r.Register(sallyport.Tool{Name: "tool", Idempotent: true, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			runs++
			return sallyport.Result{}, syscall.ECONNRESET
		}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		res := r.Call(ctx, &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "tool"})
		if runs != 1 || res.OK || time.Since(start) > 50*time.Millisecond {
			t.Errorf("%d runs, %+v after %v, want one and an end with the caller's deadline", runs, res, time.Since(start))
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// failing is a gate with a tool that fails with errs in turn.
func failing(t *testing.T, backends *sallyport.Backends, errs ...error) (*registry.Registry, *recorder) {
	t.Helper()
	rec := &recorder{}
	r, err := registry.New(backends, &registry.Options{Recorder: rec})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	if err := r.Register(sallyport.Tool{
		Name: "tool", Idempotent: true,
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			runs++
			return sallyport.OK("v"), errs[(runs-1)%len(errs)]
		},
	}); err != nil {
		t.Fatal(err)
	}
	return r, rec
}

func TestEveryAttemptIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const secret = "correct-horse-battery"
		failure := &sallyport.Error{
			Code: sallyport.CodeExecutionFailed, Err: syscall.ECONNRESET,
			Detail: "the peer hung up on " + secret + " " + strings.Repeat("long ", 1000),
		}
		r, rec := failing(t, &sallyport.Backends{Secrets: fixedSecrets{"a/b": secret}}, failure, syscall.ECONNREFUSED, nil)
		start := time.Now()
		res := r.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "tool"})
		if !res.OK {
			t.Fatalf("Call = %+v", res)
		}
		took := time.Since(start)
		var attempts []string
		waited := time.Duration(0)
		for _, d := range rec.last().Decisions {
			if strings.Contains(d.Why, secret) {
				t.Errorf("a secret is in the record: %q", d.Why)
			}
			if d.Step != sallyport.StepRun || d.Allowed {
				continue
			}
			attempts = append(attempts, d.Why)
			_, text, _ := strings.Cut(d.Why, "follows after ")
			text, _, _ = strings.Cut(text, ": ")
			wait, err := time.ParseDuration(text)
			if err != nil {
				t.Errorf("%q names no wait: %v", d.Why, err)
			}
			waited += wait
		}
		if len(attempts) != 2 || !strings.HasPrefix(attempts[0], "attempt 1 failed") || !strings.Contains(attempts[0], "hung up") ||
			len(attempts[0]) > 1000 || !strings.HasPrefix(attempts[1], "attempt 2 failed") || !strings.Contains(attempts[1], "refused") {
			t.Errorf("attempts = %q, want two with number and reason", attempts)
		}
		if diff := (took - waited).Abs(); diff > 2*time.Millisecond {
			t.Errorf("the record says %v of waiting, the call took %v", waited, took)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestRetriesAreSpread makes many calls that fail alike: their waits are
// between half and one and a half times the plan, and not the same.
func TestRetriesAreSpread(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := failing(t, nil, syscall.ECONNRESET, nil)
		seen := map[time.Duration]bool{}
		for range 50 {
			start := time.Now()
			r.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "tool"})
			took := time.Since(start)
			if took < 50*time.Millisecond || took >= 150*time.Millisecond {
				t.Errorf("the second attempt came after %v, want 50 to 150 ms", took)
			}
			seen[took] = true
		}
		if len(seen) < 25 {
			t.Errorf("%d different waits of 50", len(seen))
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestAFailureIsBetterThanATimeout has no time left for another attempt: the
// caller learns at once why the only one failed.
func TestAFailureIsBetterThanATimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, rec := failing(t, nil, syscall.ECONNRESET)
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
		defer cancel()
		start := time.Now()
		res := r.Call(ctx, &sallyport.Caller{Principal: sallyport.Principal{Name: "p"}}, sallyport.Request{Tool: "tool"})
		if !strings.Contains(res.Error, syscall.ECONNRESET.Error()) || time.Since(start) != 0 {
			t.Errorf("Call = %+v after %v, want the failure at once", res, time.Since(start))
		}
		for _, d := range rec.last().Decisions {
			if strings.Contains(d.Why, "follows") {
				t.Errorf("the record promises another attempt: %q", d.Why)
			}
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
