package scoped_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestMail(t *testing.T) {
	tests := []struct {
		name    string
		granted []string
		relay   string
		msg     sallyport.Message
		want    string
	}{
		{name: "address", granted: []string{"bob@example.com"}, msg: sallyport.Message{To: []string{"bob@example.com"}}},
		{name: "other case", granted: []string{"Bob@Example.COM"}, msg: sallyport.Message{To: []string{"bob@EXAMPLE.com"}}},
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
		{name: "long address", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{strings.Repeat("a", 250) + "@example.com"}}, want: "recipient \"" + strings.Repeat("a", 250) + "@examp...\": longer than 254 bytes"},
		{name: "domain literal", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"a@[93.184.215.14]"}}, want: `recipient "a@[93.184.215.14]": not a domain name`},
		{name: "star", granted: []string{"*@example.com"}, msg: sallyport.Message{To: []string{"*@example.com"}}, want: `recipient "*@example.com": an empty or quoted local part, or one with a star`},
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
