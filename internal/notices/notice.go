package notices

import (
	"errors"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxAge bounds how long one notice is tried.
	maxAge = 2 * time.Hour
	// maxArguments bounds the arguments in a notice, in bytes.
	maxArguments = 16 << 10
)

// notice is one notice for one receiver.
type notice struct {
	id    string // the same for each try
	event string
	at    time.Time // when it happened
	asked time.Time // when it was queued
	call  sallyport.Approval
	cut   bool // the arguments are longer
	tries int
	body  []byte // of a webhook, once it was made
}

// nameNotice returns the id of the notice of an event of a held call.
func nameNotice(call, event string) string { return "msg_" + call + "_" + event }

// newNotice returns a notice with what may be sent of a held call.
func newNotice(event string, a *sallyport.Approval, arguments bool) *notice {
	n := &notice{id: nameNotice(a.ID, event), event: event, at: a.Created, asked: time.Now(), call: sallyport.Approval{
		ID: a.ID, State: a.State, Tool: a.Tool, Why: a.Why, Principal: a.Principal, Personality: a.Personality,
		CallID: a.CallID, Created: a.Created, Expires: a.Expires, DecidedBy: a.DecidedBy,
	}}
	switch event {
	case config.NoticeDecided:
		n.at = a.Decided
	case config.NoticeExpired:
		n.at = a.Expires
	}
	if arguments {
		n.cut = len(a.Args) > maxArguments
		n.call.Args = strings.Clone(text.FirstBytes(a.Args, maxArguments))
	}
	return n
}

// checkUse returns why a notice is of no use any more.
func (n *notice) checkUse(now time.Time) error {
	switch {
	case n.event == config.NoticeHeld && !now.Before(n.call.Expires):
		return errors.New("the call is over")
	case now.Sub(n.asked) > maxAge:
		return errors.New("it is too old")
	}
	return nil
}
