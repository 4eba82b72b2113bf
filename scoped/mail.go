package scoped

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// maxRecipients is what every SMTP server has to take (RFC 5321, section
	// 4.5.3.1.8).
	maxRecipients = 100
	// maxAddressBytes is the longest path less its angle brackets (RFC 5321,
	// section 4.5.3.1.3).
	maxAddressBytes = 254
	// DefaultRelay is the relay of a mail declaration that names none.
	DefaultRelay = "default"
)

// recipient is an address in canonical form, or a domain when local is empty.
type recipient struct{ local, domain string }

// parseRecipients reads the granted addresses and "*@domain" patterns.
func parseRecipients(list []string) ([]recipient, error) {
	parsed := make([]recipient, 0, len(list))
	for _, entry := range list {
		var r recipient
		var err error
		if domain, ok := strings.CutPrefix(entry, "*@"); ok {
			r.domain, err = reach.CanonicalHost(domain)
		} else {
			r, err = parseAddress(entry)
		}
		if err != nil {
			return nil, fmt.Errorf("recipient %q: %w", entry, err)
		}
		parsed = append(parsed, r)
	}
	return parsed, nil
}

// CheckRecipient returns what is wrong with an entry of a mail declaration: an
// address, or "*@domain".
func CheckRecipient(entry string) error {
	_, err := parseRecipients([]string{entry})
	return err
}

// parseAddress reads a bare address. Display names, comments, quoted local
// parts and domain literals are refused, because relays read them in more than
// one way. The local part is compared without regard to the case of ASCII
// letters: RFC 5321, section 2.4 lets a domain distinguish, and discourages it.
// Other letters stay as they are: the Kelvin sign is a k in lower case, and the
// mailbox of somebody else.
func parseAddress(s string) (recipient, error) {
	if len(s) > maxAddressBytes {
		return recipient{}, fmt.Errorf("longer than %d bytes", maxAddressBytes)
	}
	a, err := mail.ParseAddress(s)
	if err != nil {
		return recipient{}, errors.New("not an address")
	}
	if a.Name != "" || a.Address != s {
		return recipient{}, errors.New("more than a bare address")
	}
	i := strings.LastIndexByte(s, '@')
	local := s[:i]
	if local == "" || strings.ContainsAny(local, "*\"@ ") {
		return recipient{}, errors.New("an empty or quoted local part, or one with a star")
	}
	// Relays read "bob%example.org@example.com" and "example.org!bob@…" as
	// routes and send on to the other domain (Postfix does by default).
	if strings.ContainsAny(local, "%!") {
		return recipient{}, errors.New("a local part that relays take for a route")
	}
	if err := reach.CheckMailbox(local); err != nil {
		return recipient{}, err
	}
	domain, err := reach.CanonicalHost(s[i+1:])
	if err != nil || s[i+1] == '[' {
		return recipient{}, errors.New("not a domain name")
	}
	return recipient{lowerASCII(local), domain}, nil
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// coversAddress reports whether a recipient is the other one or the domain of
// it.
func (r recipient) coversAddress(o recipient) bool {
	return r.domain == o.domain && (r.local == "" || r.local == o.local)
}

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
	relay := m.b.scope.grant.Mail.Relay
	if relay == "" {
		relay = DefaultRelay
	}
	m.b.recordAllowed(capMail, relay, "send to "+strconv.Itoa(len(msg.To))+" recipients")
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
		msg.To[i] = to[:strings.LastIndexByte(to, '@')+1] + want.domain
	}
	return nil
}

// checkRecipient checks a recipient against the grant.
func (m mailAccessor) checkRecipient(to string) (recipient, error) {
	want, err := parseAddress(to)
	if err != nil {
		return want, sallyport.InputInvalid("recipient " + strconv.Quote(clipItem(to)) + ": " + err.Error())
	}
	if !m.isGranted(want) {
		m.b.recordRefusal(capMail, to, matchesAnything)
		return want, notAvailable(to, "recipient "+to+" is not in the declared recipients")
	}
	return want, nil
}

// isGranted reports whether a granted recipient covers the wanted one.
func (m mailAccessor) isGranted(want recipient) bool {
	for _, r := range m.b.scope.recipients {
		if r.coversAddress(want) {
			return true
		}
	}
	return false
}
