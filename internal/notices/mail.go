package notices

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/text"
)

// maxSubject bounds a subject, in code points.
const maxSubject = 150

// postbox sends mail to people.
type postbox struct {
	s *Sender
	c config.Notice

	since time.Time // when the present hour began
	count int       // the mails of this hour
}

// sendOne implements channel. When an hour has had its mails, one more says that no further
// one comes, and then none comes.
func (p *postbox) sendOne(ctx context.Context, n *notice) error {
	now := time.Now()
	if now.Sub(p.since) >= time.Hour {
		p.since, p.count = now, 0
	}
	if p.count > p.c.PerHour {
		return errFolded
	}
	ctx, cancel := context.WithTimeout(ctx, p.s.o.pauses.mail)
	defer cancel()
	m, err := p.writeDigest(ctx), error(nil)
	if p.count < p.c.PerHour {
		m, err = p.writeMail(ctx, n)
	}
	if err == nil {
		err = p.s.o.SendMail(ctx, p.c.Relay, m)
	}
	if err == nil {
		p.count++
	}
	return err
}

func (p *postbox) closeIdle() {}

// writeMail returns the mail about a held call.
func (p *postbox) writeMail(ctx context.Context, n *notice) (m sallyport.Message, err error) {
	clean, err := p.s.newCleaner(ctx)
	if err != nil {
		return m, err
	}
	a := &n.call
	var b strings.Builder
	tool, what := clean.cleanLine(a.Tool), ""
	switch n.event {
	case config.NoticeHeld:
		what = "waits for a decision"
		fmt.Fprintf(&b, "A call waits for a decision until %s.\n\n", stampTime(a.Expires))
	case config.NoticeDecided:
		what = "was " + decisionWord(a.State)
		fmt.Fprintf(&b, "A held call was %s by %s.\n\n", decisionWord(a.State), clean.cleanLine(a.DecidedBy))
	default:
		what = "was not decided in time"
		fmt.Fprintf(&b, "A held call was not decided by %s.\n\n", stampTime(a.Expires))
	}
	fmt.Fprintf(&b, "  tool:      %s\n  asked by:  %s\n  role:      %s\n  why held:  %s\n", tool, clean.cleanLine(a.Principal), clean.cleanLine(a.Personality), clean.cleanLine(whyHeld(a)))
	if a.Args != "" {
		fmt.Fprintf(&b, "  arguments: %s\n", clean.cleanArguments(a.Args))
	}
	if n.cut {
		b.WriteString("             they are longer than what is shown\n")
	}
	fmt.Fprintf(&b, "  id:        %s\n", a.ID)
	if link := p.s.linkTo(ctx, n); link != "" {
		fmt.Fprintf(&b, "\nThe page, where you sign in: %s\n", link)
	}
	if n.event == config.NoticeHeld {
		fmt.Fprintf(&b, "\nOn the machine of the server: %s\n", p.s.o.Command(a.ID))
	}
	return p.addressed(tool+" "+what, b.String()), nil
}

// writeDigest returns the mail that says that no further one comes in this hour.
func (p *postbox) writeDigest(ctx context.Context) sallyport.Message {
	end := stampTime(p.since.Add(time.Hour))
	body := fmt.Sprintf("More calls wait. There were %s about held calls within an hour; until %s none comes for each further one.\n",
		text.CountOf(p.c.PerHour, "mail"), end)
	if base := p.s.o.Page(ctx); base != "" {
		body += "\nThe page, where you sign in: " + base + "/\n"
	}
	return p.addressed("more calls wait", body)
}

func (p *postbox) addressed(subject, body string) sallyport.Message {
	return sallyport.Message{To: p.c.To, Subject: text.Clip("sallyport: "+subject, maxSubject), Body: body}
}

// decisionWord says what was decided.
func decisionWord(s sallyport.ApprovalState) string {
	if s == sallyport.ApprovalDenied {
		return "refused"
	}
	return "allowed"
}

func stampTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }
