package mail

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/mail"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxRecipients is what every relay has to take (RFC 5321, section
	// 4.5.3.1.8).
	maxRecipients = 100
	// maxAddressChars is the longest path less its angle brackets (RFC 5321,
	// section 4.5.3.1.3).
	maxAddressChars = 254
	// maxSubjectChars keeps a subject of one word below the 998 bytes of a
	// line (RFC 5322, section 2.1.1).
	maxSubjectChars = 500
	// maxBodyBytes is far above what people read and far below what relays
	// refuse.
	maxBodyBytes = 1 << 20
	// wordBytes is how much text fits into one encoded word of 75 characters
	// (RFC 2047, section 2): 45 bytes are 60 characters of base64.
	wordBytes = 45
)

// letter is a message in the form in which it travels.
type letter struct {
	from string
	to   []string
	// utf8 is true when an address is not ASCII, which a relay has to know.
	utf8 bool
	text []byte
}

// composeLetter checks a message and writes it down. Everything that a caller gave
// is encoded or refused, so that it stays in its field.
func composeLetter(from sender, m sallyport.Message) (*letter, error) {
	if err := checkMessage(m); err != nil {
		return nil, err
	}
	l := &letter{from: from.header.Address, utf8: from.utf8}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent(), gomail.WithEncoding(gomail.EncodingQP))
	msg.FromMailAddress(from.header)
	var list []*mail.Address
	for _, to := range m.To {
		address, wide, err := canonicalAddress(to)
		if err != nil {
			return nil, fmt.Errorf("recipient %s: %w", strconv.Quote(text.FirstChars(to, maxAddressChars)), err)
		}
		l.to, l.utf8 = append(l.to, address), l.utf8 || wide
		list = append(list, &mail.Address{Address: address})
	}
	msg.ToMailAddress(list...)
	msg.Subject(encodeSubject(m.Subject))
	msg.SetDateWithValue(time.Now())
	// The name of this machine stays private: the id is random.
	msg.SetMessageIDWithValue(rand.Text() + "@" + from.domain)
	// Machines do not answer what says that it comes from one (RFC 3834).
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	contentType := gomail.TypeTextPlain
	if m.HTML {
		contentType = gomail.TypeTextHTML
	}
	msg.SetBodyString(contentType, lineEnds.Replace(m.Body))
	var b bytes.Buffer
	if _, err := msg.WriteTo(&b); err != nil {
		return nil, errors.New("the mail cannot be written down")
	}
	l.text = b.Bytes()
	return l, nil
}

// lineEnds writes every end of a line as a mail has it. The encoder of the
// standard library does that too, but takes a line feed for the end of the
// last line of its own when a bare carriage return stood one character before.
var lineEnds = strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n")

// checkMessage refuses what no mail holds.
func checkMessage(m sallyport.Message) error {
	switch {
	case len(m.To) == 0:
		return errors.New("the mail has no recipient")
	case len(m.To) > maxRecipients:
		return fmt.Errorf("the mail has more than %d recipients", maxRecipients)
	case !utf8.ValidString(m.Subject) || !utf8.ValidString(m.Body):
		return errors.New("the subject or the body is not UTF-8")
	case strings.ContainsFunc(m.Subject, breaksLine):
		return errors.New("the subject holds a line break or another control character")
	case utf8.RuneCountInString(m.Subject) > maxSubjectChars:
		return fmt.Errorf("the subject is longer than %d characters", maxSubjectChars)
	case len(m.Body) > maxBodyBytes:
		return fmt.Errorf("the body is longer than %d bytes", maxBodyBytes)
	}
	return nil
}

// breaksLine reports whether a character ends a line somewhere or is none.
func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// canonicalAddress returns a bare address with its domain in ASCII, and whether its
// local part is not. Comments, quoted local parts and domain literals are
// refused, because relays read them in more than one way.
func canonicalAddress(s string) (address string, wide bool, err error) {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Name != "" || a.Address != s || len(s) > maxAddressChars {
		return "", false, errors.New("expected one bare address")
	}
	at := strings.LastIndexByte(s, '@')
	local, domain := s[:at], s[at+1:]
	ascii, err := reach.CanonicalHost(domain)
	if err != nil || domain[0] == '[' {
		return "", false, errors.New("expected a domain name after the @")
	}
	if local == "" || strings.ContainsAny(local, "\"<>()[]:;,\\@%! ") {
		return "", false, errors.New("the part before the @ is empty, quoted or a route")
	}
	if err := reach.CheckMailbox(local); err != nil {
		return "", false, err
	}
	wide = strings.ContainsFunc(local, func(r rune) bool { return r >= utf8.RuneSelf })
	return local + "@" + ascii, wide, nil
}

// encodeSubject returns a subject as printable ASCII. Runs of spaces become
// one: where a line is folded inside of one, a line of spaces alone would look
// like the end of the header. What looks like an encoded word is encoded, so
// that a reader gets to see it as it was given and does not decode it.
func encodeSubject(s string) string {
	s = text.OneLine(s)
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
	if plain && !strings.Contains(s, "=?") {
		return s
	}
	var words []string
	for s != "" {
		part := text.FirstBytes(s, wordBytes)
		words = append(words, "=?UTF-8?B?"+base64.StdEncoding.EncodeToString([]byte(part))+"?=")
		s = s[len(part):]
	}
	return strings.Join(words, " ")
}
