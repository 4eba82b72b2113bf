package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/textproto"
	"regexp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// deliveryStep is how far a mail got.
type deliveryStep int

const (
	stepConnect deliveryStep = iota
	stepLocal
	stepTLS
	stepGreet
	stepNoTLS
	stepNoAuth
	stepAuth
	stepUTF8
	stepSender
	stepRecipient
	stepContent
	// stepVerdict is the answer to the whole letter: without one, it is not
	// known whether the relay has it.
	stepVerdict
)

// stepError says at which step a mail failed. The cause is for the log.
type stepError struct {
	step deliveryStep
	what string
	err  error
}

// newStepError returns the error of a step; nil when the cause is.
func newStepError(step deliveryStep, cause error) error {
	if cause == nil {
		return nil
	}
	return &stepError{step: step, err: cause}
}

// Error is for the log.
func (e *stepError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("step %d", e.step)
	}
	// A reply is as long as the relay likes.
	return fmt.Sprintf("step %d: %q", e.step, text.FirstBytes(e.err.Error(), maxLogBytes))
}

// maxLogBytes is how much of a relay's words goes to the log.
const maxLogBytes = 300

func (e *stepError) Unwrap() error { return e.err }

// toCallerError makes the error for the caller. It tells what the relay did by
// its codes: its words may hold anything, and a model would read them.
func (r *relay) toCallerError(ctx context.Context, err error) error {
	out := &sallyport.Error{Code: sallyport.CodeExecutionFailed, Resource: r.name, Operation: "send", Err: err}
	e, ok := errors.AsType[*stepError](err)
	if !ok {
		out.Detail = r.displayName() + " failed"
		return out
	}
	reply, answered := errors.AsType[*textproto.Error](e.err)
	switch {
	case answered && reply.Code >= 400 && reply.Code < 600:
		out.Detail = r.displayName() + " " + e.refusalText() + " " + retryVerdict(reply)
	case e.step == stepVerdict:
		out.Detail = r.displayName() + " did not confirm the mail: it is unknown whether it was sent. Do not send it again without asking"
	default:
		out.Detail = r.displayName() + " " + e.failureText() + endReason(ctx) + "; nothing was sent"
	}
	return out
}

func endReason(ctx context.Context) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ": the time is up"
	case ctx.Err() != nil:
		return ": the call was cancelled"
	default:
		return ""
	}
}

// refusalText says what a reply of the relay refused.
func (e *stepError) refusalText() string {
	switch e.step {
	case stepAuth:
		return "refused the credentials"
	case stepSender:
		return "refused the sender"
	case stepRecipient:
		return "refused the recipient " + e.what
	case stepTLS:
		return "refused to begin TLS"
	case stepContent, stepVerdict:
		return "refused the mail"
	default:
		return "refused the connection"
	}
}

// failureText says what failed when the relay gave no reply.
func (e *stepError) failureText() string {
	switch e.step {
	case stepConnect:
		return "cannot be reached"
	case stepLocal:
		return "has no TLS and is not on this machine"
	case stepTLS:
		if _, ok := errors.AsType[*tls.CertificateVerificationError](e.err); ok {
			return "has a certificate that is not valid for it"
		}
		return "failed to begin TLS"
	case stepNoTLS:
		return "does not offer STARTTLS, without which it is not used"
	case stepNoAuth:
		return "offers no way to authenticate that is supported (PLAIN, LOGIN)"
	case stepAuth:
		return "did not finish the authentication"
	case stepUTF8:
		return "does not take addresses beyond ASCII"
	default:
		return "broke the connection off"
	}
}

// enhanced is the code of RFC 3463 at the beginning of a reply.
var enhanced = regexp.MustCompile(`^[245]\.[0-9]{1,3}\.[0-9]{1,3}\b`)

// retryVerdict says whether trying again is of any use (RFC 5321, section
// 4.2.1).
func retryVerdict(reply *textproto.Error) string {
	code := fmt.Sprint(reply.Code)
	if e := enhanced.FindString(reply.Msg); e != "" {
		code += " " + e
	}
	if reply.Code < 500 {
		return "for now (" + code + "); nothing was sent, try again later"
	}
	return "for good (" + code + "); nothing was sent, and sending it again does not help"
}

// withoutText drops the words of a reply and keeps its code.
func withoutText(err error) error {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		return &textproto.Error{Code: reply.Code}
	}
	return errors.New("the exchange failed")
}
