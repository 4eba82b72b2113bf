package scoped_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestMail(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		granted []string
		relay   string
		msg     sallyport.Message
		want    string
	}{
		{name: "address", granted: []string{"bob@example.com"}, msg: sallyport.Message{To: []string{"bob@example.com"}}},
		{name: "other case", granted: []string{"Bob@Example.COM"}, msg: sallyport.Message{To: []string{"bob@EXAMPLE.com"}}},
		{name: "letter that becomes another in lower case", granted: []string{"kelly@example.com"}, msg: sallyport.Message{To: []string{"\u212Aelly@example.com"}}, want: "recipient \u212Aelly@example.com is not in the declared recipients"},
		{name: "case beyond ASCII", granted: []string{"örjan@example.com"}, msg: sallyport.Message{To: []string{"Örjan@example.com"}}, want: "recipient Örjan@example.com is not in the declared recipients"},
		{name: "domain", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"a@example.com", "b@example.com"}}},
		{name: "named relay", granted: []string{"*@example.com"}, relay: "news", msg: sallyport.Message{To: []string{"a@example.com"}}},
		{name: "international domain", granted: []string{"*@bücher.example"}, msg: sallyport.Message{To: []string{"a@xn--bcher-kva.example"}}},
		{name: "subdomain", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"a@sub.example.com"}}, want: "recipient a@sub.example.com is not in the declared recipients"},
		{name: "suffix", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"a@evilexample.com"}}, want: "recipient a@evilexample.com is not in the declared recipients"},
		{name: "one of two", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"a@example.com", "b@example.org"}}, want: "recipient b@example.org is not in the declared recipients"},
		{name: "nobody", granted: []string{"*@example.com"}, want: "the mail has no recipient"},
		{name: "two in one", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"a@evil.org,b@example.com"}}, want: `recipient "a@evil.org,b@example.com": not an address`},
		{name: "display name", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"A <a@example.com>"}}, want: `recipient "A <a@example.com>": more than a bare address`},
		{name: "line break", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"a@example.com\r\nBcc: b@evil.org"}}, want: `recipient "a@example.com\r\nBcc: b@evil.org": not an address`},
		{name: "subject with a header", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"a@example.com"}, Subject: "hi\nBcc: b@evil.org"}, want: "the subject holds a line break"},
		{name: "long address", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{strings.Repeat("a", 250) + "@example.com"}}, want: "recipient \"" + strings.Repeat("a", 250) + "@examp…\": longer than 254 bytes"},
		{name: "domain literal", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"a@[93.184.215.14]"}}, want: `recipient "a@[93.184.215.14]": not a domain name`},
		{name: "star", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"*@example.com"}}, want: `recipient "*@example.com": an empty or quoted local part, or one with a star`},
		{name: "percent route", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"bob%evil.org@example.com"}}, want: `recipient "bob%evil.org@example.com": a local part that relays take for a route`},
		{name: "encoded word", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"=?utf-8?q?eve=40evil.org=3e?=@example.com"}}, want: `recipient "=?utf-8?q?eve=40evil.org=3e?=@example.com": a local part that looks like an encoded word`},
		{name: "bang route", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"evil.org!bob@example.com"}}, want: `recipient "evil.org!bob@example.com": a local part that relays take for a route`},
		{name: "too many", granted: []string{"*@example.com"}, msg: sallyport.Message{To: make([]string, 101)}, want: "the mail has more than 100 recipients"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outbox := &scopedtest.Outbox{}
			g := &sallyport.Grant{Mail: &sallyport.MailCapability{Relay: tt.relay, To: tt.granted}}
			c, _, _ := bind(t, g, &sallyport.Backends{Mail: outbox})
			err := c.Mail.Send(t.Context(), tt.msg)
			relay := tt.relay
			if relay == "" {
				relay = "default"
			}
			sent := len(outbox.Sent(relay))
			if tt.want == "" && (err != nil || sent != 1) {
				t.Errorf("Send = %v with %d mails at %s, want one", err, sent, relay)
			}
			if tt.want != "" && (err == nil || err.Error() != tt.want || sent != 0) {
				t.Errorf("Send = %v with %d mails, want %q and none", err, sent, tt.want)
			}
		})
	}
}

// TestMailSendsWhatWasJudged gives an address that a relay could read
// otherwise than the gate: it arrives in the form that was compared.
func TestMailSendsWhatWasJudged(t *testing.T) {
	t.Parallel()
	outbox := &scopedtest.Outbox{}
	g := &sallyport.Grant{Mail: &sallyport.MailCapability{To: []string{"*@bücher.example"}}}
	c, _, _ := bind(t, g, &sallyport.Backends{Mail: outbox})
	given := []string{"Bob@BÜCHER.example"}
	if err := c.Mail.Send(t.Context(), sallyport.Message{To: given}); err != nil {
		t.Fatal(err)
	}
	sent := outbox.Sent("default")
	if len(sent) != 1 || len(sent[0].To) != 1 || sent[0].To[0] != "Bob@xn--bcher-kva.example" {
		t.Errorf("sent = %+v, want it to Bob@xn--bcher-kva.example", sent)
	}
	if given[0] != "Bob@BÜCHER.example" {
		t.Errorf("the caller's list became %q, want it untouched", given)
	}
}
