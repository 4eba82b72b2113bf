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
