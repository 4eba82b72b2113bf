package mail_test

import (
	"io"
	"maps"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
)

// read parses a mail with the standard library.
func read(t testing.TB, text string) (netmail.Header, string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("the mail is not readable: %v\n%q", err, text)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatalf("the body is not readable: %v\n%q", err, text)
	}
	return m.Header, string(body)
}

// headers is what every mail has, and nothing else.
var headers = []string{
	"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To",
}

func TestLetter(t *testing.T) {
	s := newServer(t, nil)
	m := message()
	m.HTML, m.Body, m.Subject = true, "<p>\u20ac", "Gr\u00fc\u00dfe \u4e16\u754c"
	m.To = []string{"bob@example.com", "Carol@Example.COM"}
	b := s.backend(t, relay())
	for range 2 {
		if err := b.Send(t.Context(), "default", m); err != nil {
			t.Fatal(err)
		}
	}
	first, body := read(t, s.mails()[0].text)
	second, _ := read(t, s.mails()[1].text)
	if got := slices.Sorted(maps.Keys(first)); !slices.Equal(got, headers) {
		t.Errorf("headers = %v, want %v", got, headers)
	}
	for name, want := range map[string]string{
		"From": `"Agent" <agent@example.com>`, "To": "<bob@example.com>, <Carol@example.com>",
		"Content-Type": "text/html; charset=UTF-8", "Auto-Submitted": "auto-generated",
	} {
		if got := first.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if subject, err := new(mime.WordDecoder).DecodeHeader(first.Get("Subject")); err != nil || subject != m.Subject {
		t.Errorf("Subject = %q, %v, want %q", subject, err, m.Subject)
	}
	if body != m.Body+"\r\n" { // a text ends with a whole line
		t.Errorf("body = %q, want %q", body, m.Body)
	}
	if d, err := first.Date(); err != nil || time.Since(d).Abs() > time.Hour {
		t.Errorf("Date = %v, %v, want now", d, err)
	}
	id := first.Get("Message-Id")
	if id == second.Get("Message-Id") || !strings.HasSuffix(id, "@example.com>") || len(id) < 30 {
		t.Errorf("Message-Id = %s and %s, want two random ones of the sender's domain", id, second.Get("Message-Id"))
	}
}

// TestHostileFields gives each field what would leave it.
func TestHostileFields(t *testing.T) {
	s := newServer(t, nil)
	b := s.backend(t, relay())
	for _, tt := range []struct {
		name string
		edit func(*sallyport.Message)
		want string
	}{
		{"nobody", func(m *sallyport.Message) { m.To = nil }, "the mail has no recipient"},
		{"crowd", func(m *sallyport.Message) { m.To = make([]string, 101) }, "the mail has more than 100 recipients"},
		{"CRLF subject", func(m *sallyport.Message) { m.Subject = "a\r\nBcc: eve@evil.example" }, "the subject holds a line break"},
		{"LF subject", func(m *sallyport.Message) { m.Subject = "a\nBcc: eve@evil.example" }, "the subject holds a line break"},
		{"NEL subject", func(m *sallyport.Message) { m.Subject = "a\u0085b" }, "the subject holds a line break"},
		{"LS subject", func(m *sallyport.Message) { m.Subject = "a\u2028b" }, "the subject holds a line break"},
		{"NUL subject", func(m *sallyport.Message) { m.Subject = "a\x00b" }, "the subject holds a line break"},
		{"long subject", func(m *sallyport.Message) { m.Subject = strings.Repeat("\u00e9", 501) }, "the subject is longer than 500 characters"},
		{"broken subject", func(m *sallyport.Message) { m.Subject = "\xff" }, "is not UTF-8"},
		{"broken body", func(m *sallyport.Message) { m.Body = "\xff" }, "is not UTF-8"},
		{"long body", func(m *sallyport.Message) { m.Body = strings.Repeat("x", 1<<20+1) }, "the body is longer than 1048576 bytes"},
		{"CRLF address", func(m *sallyport.Message) { m.To[0] = "a@b.example\r\nDATA" }, "expected one bare address"},
		{"SMTP parameter", func(m *sallyport.Message) { m.To[0] = "a@b.example> NOTIFY=NEVER" }, "expected one bare address"},
		{"list", func(m *sallyport.Message) { m.To[0] = "a@b.example,c@d.example" }, "expected one bare address"},
		{"name", func(m *sallyport.Message) { m.To[0] = "A <a@b.example>" }, "expected one bare address"},
		{"quoted", func(m *sallyport.Message) { m.To[0] = `"a b"@b.example` }, "expected one bare address"},
		{"comment", func(m *sallyport.Message) { m.To[0] = "a@b.example (hi)" }, "expected one bare address"},
		{"literal", func(m *sallyport.Message) { m.To[0] = "a@[192.0.2.1]" }, "expected a domain name after the @"},
		{"encoded word", func(m *sallyport.Message) { m.To[0] = "=?utf-8?q?eve=40evil.example=3e?=@b.example" }, "looks like an encoded word"},
		{"program", func(m *sallyport.Message) { m.To[0] = "|cat@b.example" }, "a file or a program"},
		{"direction", func(m *sallyport.Message) { m.To[0] = "a\u202e@b.example" }, "does not show"},
		{"route", func(m *sallyport.Message) { m.To[0] = "a%c.example@b.example" }, "the part before the @ is empty, quoted or a route"},
	} {
		m := message()
		tt.edit(&m)
		err := b.Send(t.Context(), "default", m)
		if err == nil || !strings.Contains(err.Error(), tt.want) || sallyport.ErrorResult(err).Code != sallyport.CodeInputInvalid {
			t.Errorf("%s: Send = %v, want input_invalid: %s", tt.name, err, tt.want)
		}
	}
	if n := s.connections(); n != 0 {
		t.Errorf("%d connections, want none", n)
	}
}

// TestEverythingStaysInItsField holds that whatever is sent arrives as the
// headers of a mail and no others, with the subject and the body that were
// given, in lines that any relay takes.
func TestEverythingStaysInItsField(t *testing.T) {
	s := newServer(t, nil)
	b := s.backend(t, open())
	tricky := rapid.OneOf(
		rapid.String(), rapid.StringMatching(`[ =?._a\-]{0,300}`), rapid.StringOf(rapid.RuneFrom([]rune(" \t\r\n.:=?\u00e9\u4e16\u200b<>\x1b\x00"))),
		rapid.SampledFrom([]string{
			"=?utf-8?q?=0D=0ABcc:_eve@evil.example?=", strings.Repeat(" ", 400), strings.Repeat("x ", 240), "a" + strings.Repeat(" ", 300) + "b",
			"\r\n.\r\nMAIL FROM:<eve@evil.example>\r\n", "\n.\n", ".", "..\r\n.", "=", "a=\r\nb", "\r=\nb", strings.Repeat("\U0001f600", 400), "x" + strings.Repeat("\u00e9", 400),
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		m := sallyport.Message{
			To: []string{"bob@example.com"}, Subject: tricky.Draw(t, "subject"), Body: tricky.Draw(t, "body"), HTML: rapid.Bool().Draw(t, "html"),
		}
		before := len(s.mails())
		if err := b.Send(t.Context(), "default", m); err != nil {
			if sallyport.ErrorResult(err).Code != sallyport.CodeInputInvalid || len(s.mails()) != before {
				t.Fatalf("Send = %v, want success or input_invalid before anything is sent", err)
			}
			return
		}
		all := s.mails()
		if len(all) != before+1 {
			t.Fatalf("%d mails arrived, want one", len(all)-before)
		}
		got := all[before]
		checkText(t, got.text, m)
	})
}

// checkText compares a mail as it travelled with what was to be sent.
func checkText(t *rapid.T, text string, m sallyport.Message) {
	head, _, _ := strings.Cut(text, "\r\n\r\n")
	for line := range strings.SplitSeq(text, "\r\n") {
		if len(line) > 998 || strings.ContainsAny(line, "\r\n\x00") || strings.ContainsFunc(line, func(r rune) bool { return r > '~' }) {
			t.Fatalf("a line is too long, broken or not ASCII: %q", line)
		}
	}
	for line := range strings.SplitSeq(head, "\r\n") {
		if strings.TrimSpace(line) == "" {
			t.Fatalf("a line of the header is blank: %q", head)
		}
	}
	parsed, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("the mail is not readable: %v", err)
	}
	if diff := cmp.Diff(headers, slices.Sorted(maps.Keys(parsed.Header))); diff != "" {
		t.Fatalf("headers (-want +got):\n%s", diff)
	}
	for name, values := range parsed.Header {
		if len(values) != 1 {
			t.Fatalf("%s is there %d times", name, len(values))
		}
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
	if want := strings.Join(strings.Fields(m.Subject), " "); err != nil || subject != want {
		t.Fatalf("subject = %q, %v, want %q", subject, err, want)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	want := strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n").Replace(m.Body)
	if got := strings.TrimSuffix(string(body), "\r\n"); err != nil || got != strings.TrimSuffix(want, "\r\n") {
		t.Fatalf("body = %q, %v, want %q", body, err, want)
	}
}
