package browser

import (
	"context"
	"errors"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// newFailure is the error of a call that could not do what it should. What the browser says
// of the cause is shortened.
func newFailure(what string, cause error) error {
	e := &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: what, Err: cause}
	coded, isCoded := errors.AsType[*sallyport.Error](cause)
	refused, isRefused := errors.AsType[*protocolError](cause)
	switch {
	case cause == nil:
	case isCoded:
		return coded
	case errors.Is(cause, context.Canceled):
		return cause
	case errors.Is(cause, context.DeadlineExceeded):
		e.Detail += ": it took too long"
	case isRefused:
		e.Detail += ": " + text.Clip(text.OneLine(refused.Message), 300)
	case errors.Is(cause, errTooLong), errors.Is(cause, errNotReading):
		e.Detail += ": " + cause.Error()
	}
	return e
}

// detailOf is the text of an error for the middle of a sentence.
func detailOf(err error) string {
	if coded, ok := errors.AsType[*sallyport.Error](err); ok {
		return strings.Replace(coded.Detail, "the browser has", "it has", 1)
	}
	return "it has ended"
}

// errNoPage is the failure of a call that needs a page where there is none.
func errNoPage(gone string) error {
	const next = "browser_navigate opens one"
	if gone == "" {
		return sallyport.InputInvalid("no page is open: " + next)
	}
	return newFailure("the browser is gone, with its pages: "+gone+". "+next, lostBrowser(gone))
}

// lostBrowser is why the browser of a call ended.
type lostBrowser string

func (l lostBrowser) Error() string { return string(l) }
