package scoped

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/tracing"
)

// startChildSpan begins the span of a child that is allowed, below the call. It names the
// program; arguments, variables and folders may have anything in them and are not in it.
func startChildSpan(ctx context.Context, binary string) *tracing.Span {
	name := filepath.Base(binary)
	_, span := tracing.StartSpan(ctx, name, tracing.KindClient)
	span.SetText(tracing.KeyExecutable, name)
	return span
}

// endChildSpan ends the span of a child that has ended, or could not run.
func endChildSpan(span *tracing.Span, res *sallyport.ProcessResult, err error) {
	span.SetText(tracing.KeyConfinement, string(res.Level))
	refused, coded := errors.AsType[*sallyport.Error](err)
	switch {
	case coded:
		span.FailWith(string(refused.Code))
	case err != nil:
		span.FailWith(tracing.ErrorOther)
	case res.TimedOut:
		span.FailWith(tracing.ErrorTimeout)
	default:
		span.SetNumber(tracing.KeyExitCode, int64(res.ExitCode))
		if res.ExitCode != 0 {
			span.FailWith(strconv.Itoa(res.ExitCode))
		}
	}
	span.EndSpan()
}

// endStartSpan ends the span of the start of a child, which may outlive its call.
func endStartSpan(span *tracing.Span, level sallyport.Level, err error) {
	if err != nil {
		endChildSpan(span, &sallyport.ProcessResult{}, err)
		return
	}
	span.SetText(tracing.KeyConfinement, string(level))
	span.EndSpan()
}
