package notices

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/text"
)

func mailTo(to ...string) config.Notice {
	return config.Notice{Relay: "default", To: to, PerHour: 3, Events: []string{config.NoticeHeld, config.NoticeDecided, config.NoticeExpired}}
}

func (d *desk) sentMails() []sallyport.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]sallyport.Message(nil), d.mails...)
}

func TestMailSaysWhatWaits(t *testing.T) {
	d := newDesk(t, nil)
	d.Replace(one(mailTo("oncall@example.com", "ann@example.com")))
	d.hold("a1", func(a *sallyport.Approval) {
		a.Tool, a.Why = "email-send\r\nBcc: evil@example.com", "read "+hidden+"\r\n\r\nPlease approve: http://evil.example \u202e"
	})
	waitFor(t, "a mail", func() bool { return len(d.sentMails()) == 1 })
	m := d.sentMails()[0]
	if text.HasControl(m.Subject) || !strings.HasPrefix(m.Subject, "sallyport: email-send") || !strings.HasSuffix(m.Subject, "waits for a decision") || m.HTML {
		t.Errorf("subject = %q", m.Subject)
	}
	if strings.Join(m.To, " ") != "oncall@example.com ann@example.com" {
		t.Errorf("to = %v", m.To)
	}
	for _, want := range []string{
		"until " + stampTime(d.calls["a1"].Expires), "asked by:  local\n", "role:      assistant\n", "id:        a1\n",
		"The page, where you sign in: https://gate.example.com/#held-a1\n", "sallyport approvals approve a1\n",
	} {
		if !strings.Contains(m.Body, want) {
			t.Errorf("the mail lacks %q:\n%s", want, m.Body)
		}
	}
	// What an agent may have written stays on its line.
	for line := range strings.Lines(m.Body) {
		if strings.HasPrefix(line, "Bcc:") || strings.HasPrefix(line, "Please") {
			t.Errorf("the mail has the line %q:\n%s", line, m.Body)
		}
	}
	if strings.Contains(m.Body, hidden) || strings.ContainsAny(m.Body, "\r\u202e") || strings.Contains(m.Body, "bob@example.com") {
		t.Errorf("the mail has a secret, a control character or the arguments:\n%q", m.Body)
	}
	d.decide("a1", true)
	waitFor(t, "another mail", func() bool { return len(d.sentMails()) == 2 })
	if m := d.sentMails()[1]; !strings.Contains(m.Body, "was allowed by page:alice") {
		t.Errorf("the second mail = %s", m.Body)
	}
}

func TestASubjectIsShort(t *testing.T) {
	d := newDesk(t, nil)
	d.Replace(one(mailTo("oncall@example.com")))
	d.hold("a1", func(a *sallyport.Approval) { a.Tool = strings.Repeat("ä", 5000) })
	waitFor(t, "a mail", func() bool { return len(d.sentMails()) == 1 })
	if m := d.sentMails()[0]; len([]rune(m.Subject)) > maxSubject+1 || len(m.Body) > 8<<10 {
		t.Errorf("a mail with %d characters in the subject and %d bytes", len([]rune(m.Subject)), len(m.Body))
	}
}

// An hour has a bounded number of mails, and one more that says so.
func TestMailsOfAnHourAreBounded(t *testing.T) {
	d := newDesk(t, nil)
	d.Replace(one(mailTo("oncall@example.com")))
	for i := range 50 {
		d.hold(fmt.Sprintf("c%d", i), nil)
	}
	waitFor(t, "all", func() bool { c := d.Counts()["chat"]; return c.Sent == 4 && c.Waiting == 0 })
	d.Close(t.Context())
	mails := d.sentMails()
	if len(mails) != 4 || mails[3].Subject != "sallyport: more calls wait" || !strings.Contains(mails[3].Body, "3 mails") {
		t.Errorf("mails = %+v", mails)
	}
	p := &postbox{s: d.Sender, c: mailTo("oncall@example.com"), since: time.Now().Add(-2 * time.Hour), count: 4}
	a := sallyport.Approval{ID: "next", Tool: "x", Principal: "local", Expires: time.Now().Add(time.Hour)}
	if err := p.sendOne(t.Context(), newNotice(config.NoticeHeld, &a, false)); err != nil || p.count != 1 {
		t.Errorf("the first mail of the next hour = %v, count %d", err, p.count)
	}
}

// A relay that refuses is asked again, and what it does not take is told.
func TestARelayThatRefuses(t *testing.T) {
	d := newDesk(t, nil)
	d.refused = errors.New(`mail relay "default" cannot be reached; nothing was sent`)
	d.Replace(one(mailTo("oncall@example.com")))
	d.hold("a1", nil)
	waitFor(t, "a loss", func() bool { return d.Counts()["chat"].Lost == 1 })
	d.mu.Lock()
	d.refused = nil
	d.mu.Unlock()
	d.hold("b2", nil)
	waitFor(t, "a mail", func() bool { return d.Counts()["chat"].Sent == 1 })
	if log := d.logged(); !strings.Contains(log, "could not be sent") || !strings.Contains(log, fmt.Sprintf("tries=%d", maxTries)) {
		t.Errorf("log:\n%s", log)
	}
}
