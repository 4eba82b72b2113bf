package scoped

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// maxRecipients is what every SMTP server has to take (RFC 5321, section
// 4.5.3.1.8).
const maxRecipients = 100

// mailAccessor is the mail accessor of a call.
type mailAccessor struct{ b *Binding }

// Send hands the message to the granted relay when the grant covers every
// recipient. The message is in no decision but for refused recipients.
func (m mailAccessor) Send(ctx context.Context, msg sallyport.Message) error {
	if err := m.b.checkLive(); err != nil {
		return err
	}
	// The copy keeps a tool from changing the list after the check, which
	// writes the addresses as they were judged.
	msg.To = slices.Clone(msg.To)
	if err := m.checkMessage(&msg); err != nil {
		return err
	}
	relay := cmp.Or(m.b.scope.grant.Mail.Relay, group.DefaultRelay)
	m.b.recordAllowed(group.Mail, relay, "send to "+strconv.Itoa(len(msg.To))+" recipients")
	return hideBackendError(m.b.scope.backends.Mail.Send(ctx, relay, msg), "the mail could not be sent")
}

// checkMessage checks a message and brings its recipients into canonical form.
func (m mailAccessor) checkMessage(msg *sallyport.Message) error {
	switch {
	case len(msg.To) == 0:
		return sallyport.InputInvalid("the mail has no recipient")
	case len(msg.To) > maxRecipients:
		return sallyport.InputInvalid(fmt.Sprintf("the mail has more than %d recipients", maxRecipients))
	case strings.ContainsAny(msg.Subject, "\r\n\x00"):
		return sallyport.InputInvalid("the subject holds a line break")
	}
	for i, to := range msg.To {
		want, err := m.checkRecipient(to)
		if err != nil {
			return err
		}
		msg.To[i] = to[:strings.LastIndexByte(to, '@')+1] + want.Domain
	}
	return nil
}

func (m mailAccessor) checkRecipient(to string) (reach.Recipient, error) {
	want, err := reach.ParseAddress(to)
	if err != nil {
		return want, sallyport.InputInvalid("recipient " + strconv.Quote(clipItem(to)) + ": " + err.Error())
	}
	if !slices.ContainsFunc(m.b.scope.recipients, func(r reach.Recipient) bool { return r.Covers(want) }) {
		m.b.recordRefusal(group.Mail, to, matchesAnything)
		return want, notAvailable(to, "recipient "+to+" is not in the declared recipients")
	}
	return want, nil
}

type refusedMail struct{ note func(sallyport.Decision) }

func (m refusedMail) Send(context.Context, sallyport.Message) error { return m.Probe("", "") }

func (m refusedMail) Probe(string, string) error {
	sendDecision(m.note, newRefusal(group.Mail, ""))
	return notAvailable("", "the tool declares no mail")
}

func (m mailAccessor) Probe(_, to string) error {
	_, err := m.checkRecipient(to)
	return err
}
