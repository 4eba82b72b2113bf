package scopedtest

import (
	"context"

	"github.com/sallyport/sallyport"
)

// playedCaller is a caller whom a test plays.
type playedCaller func(sallyport.Question) sallyport.Answer

// newCaller returns the caller that is asked, nil when it cannot be.
func (o *Options) newCaller() sallyport.Input {
	if o.Answer == nil {
		return nil
	}
	return playedCaller(o.Answer)
}

func (playedCaller) Can(sallyport.InputKind) bool { return true }

func (p playedCaller) Ask(ctx context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	answers := make([]sallyport.Answer, len(questions))
	for i := range questions {
		answers[i] = p(questions[i])
	}
	return answers, ctx.Err()
}
