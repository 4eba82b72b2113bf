package reach

import (
	"errors"
	"fmt"
	"net/mail"
	"strings"
)

// maxAddressBytes is the longest path less its angle brackets (RFC 5321,
// section 4.5.3.1.3).
const maxAddressBytes = 254

// Recipient is a mail address in canonical form, or a whole domain when Local
// is empty.
type Recipient struct {
	// Local is what stands before the @, in lower case.
	Local string
	// Domain is a canonical host.
	Domain string
}

// ParseRecipients reads addresses and "*@domain" patterns.
func ParseRecipients(list []string) ([]Recipient, error) {
	parsed := make([]Recipient, 0, len(list))
	for _, entry := range list {
		var r Recipient
		var err error
		if domain, ok := strings.CutPrefix(entry, "*@"); ok {
			r.Domain, err = CanonicalHost(domain)
		} else {
			r, err = ParseAddress(entry)
		}
		if err != nil {
			return nil, fmt.Errorf("recipient %q: %w", entry, err)
		}
		parsed = append(parsed, r)
	}
	return parsed, nil
}

// ParseAddress reads a bare address. Display names, comments, quoted local
// parts and domain literals are refused, because relays read them in more than
// one way. The local part is compared without regard to the case of ASCII
// letters: RFC 5321, section 2.4 lets a domain distinguish, and discourages it.
// Other letters stay as they are: the Kelvin sign is a k in lower case, and the
// mailbox of another person.
func ParseAddress(s string) (Recipient, error) {
	if len(s) > maxAddressBytes {
		return Recipient{}, fmt.Errorf("longer than %d bytes", maxAddressBytes)
	}
	a, err := mail.ParseAddress(s)
	if err != nil {
		return Recipient{}, errors.New("not an address")
	}
	if a.Name != "" || a.Address != s {
		return Recipient{}, errors.New("more than a bare address")
	}
	i := strings.LastIndexByte(s, '@')
	local := s[:i]
	if local == "" || strings.ContainsAny(local, "*\"@ ") {
		return Recipient{}, errors.New("an empty or quoted local part, or one with a star")
	}
	// Relays read "bob%example.org@example.com" and "example.org!bob@…" as
	// routes and send on to the other domain (Postfix does by default).
	if strings.ContainsAny(local, "%!") {
		return Recipient{}, errors.New("a local part that relays take for a route")
	}
	if err := CheckMailbox(local); err != nil {
		return Recipient{}, err
	}
	domain, err := CanonicalHost(s[i+1:])
	if err != nil || s[i+1] == '[' {
		return Recipient{}, errors.New("not a domain name")
	}
	return Recipient{lowerASCII(local), domain}, nil
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Covers reports whether a recipient is the other one or the domain of it.
func (r Recipient) Covers(o Recipient) bool {
	return r.Domain == o.Domain && (r.Local == "" || r.Local == o.Local)
}
