package notices

import (
	"context"
	"errors"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/output"
)

// shownLine bounds a name, a reason or another single line, in code points.
const shownLine = 400

// cleaner removes secrets, and characters that are not seen or that deceive a reader.
type cleaner struct {
	secrets *output.Cleaner
	escape  func(string) string
}

// newCleaner returns a cleaner. Without the list of known secrets nothing is sent.
func (s *Sender) newCleaner(ctx context.Context) (*cleaner, error) {
	known, err := s.o.Known(ctx)
	if err != nil {
		return nil, errors.New("the secrets that must not be sent cannot be read")
	}
	return &cleaner{output.Plain().With(known...), s.o.Clean}, nil
}

// cleanLine cleans a name or another short line.
func (c *cleaner) cleanLine(s string) string {
	return c.escape(text.Clip(string(c.secrets.Text(s)), shownLine))
}

// cleanArguments cleans the arguments of a call, whose length is bounded before.
func (c *cleaner) cleanArguments(s string) string { return c.escape(string(c.secrets.Text(s))) }

// whyHeld says what held a call.
func whyHeld(a *sallyport.Approval) string {
	if a.Why == "" {
		return "the role asks for a decision about each call of this tool"
	}
	return a.Why
}

// linkTo returns where a person sees the call, after signing in; empty without a page.
func (s *Sender) linkTo(ctx context.Context, n *notice) string {
	base := s.o.Page(ctx)
	switch {
	case base == "":
		return ""
	case n.event == config.NoticeHeld:
		return base + "/#held-" + n.call.ID
	default:
		return base + "/page/calls/" + n.call.CallID
	}
}
