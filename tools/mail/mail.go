// Package mail sends mail: the tool email-send and the backend that hands its
// messages to the operator's relays.
//
// [Tool] declares the tool under a relay and the recipients that the operator
// chose; the accessor of its call refuses every other recipient. [Open] makes
// the backend for [sallyport.Backends]. It speaks SMTP to the relays that the
// configuration names and to nothing else: TLS is never optional, the
// certificate is verified, credentials go over TLS only, and neither they nor
// a relay's words show in an error.
//
// The package does not deliver mail to the servers of recipients, does not
// queue, and sends nothing twice: a message whose fate is unknown is reported
// as such and left to the caller.
package mail

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

const (
	// toolset is the label of the tool.
	toolset = "mail"
	// permission is what a principal needs to send mail.
	permission = "email:send"
	// sendsPerHour is the rate limit of the tool.
	sendsPerHour = 10
)

// sendInput is the arguments of email-send.
type sendInput struct {
	To      string `json:"to" jsonschema:"Address of the one recipient, without a display name."`
	Subject string `json:"subject" jsonschema:"Subject, one line."`
	Body    string `json:"body" jsonschema:"Text of the mail, or its HTML source when html is true."`
	HTML    bool   `json:"html,omitempty" jsonschema:"Whether body is HTML."`
}

// Tool returns email-send for a relay and the recipients that it may write
// to. A caller needs the permission email:send and has ten mails per hour.
func Tool(c sallyport.MailCapability) sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "email-send", Title: "Send Email", Toolset: toolset,
		Description: "Send an email message to one recipient. It cannot be taken back: ask first when in doubt, and do not repeat one " +
			"whose fate is reported as unknown.",
		Schema: args.Schema[sendInput](func(get func(string) args.Property) {
			get("to").Length(1, maxAddressChars).Format("email")
			get("subject").Length(0, maxSubjectChars)
			get("body").Length(0, maxBodyBytes)
			get("html").Default(false)
		}),
		Capabilities: sallyport.Capabilities{Mail: &c},
		Touches:      []sallyport.Touch{{Capability: "mail", Argument: "to"}},
		Does:         []sallyport.Effect{effect.Outward, effect.Irrevocable},
		Destinations: map[string]sallyport.ValueKind{"to": effect.Mail},
		Permissions:  []string{permission},
		RateLimit:    &sallyport.RateLimit{Requests: sendsPerHour, Window: time.Hour},
	}, sendLetter)
}

// sendLetter runs a call of email-send.
func sendLetter(ctx context.Context, c *sallyport.Call, in sendInput) (sallyport.Result, error) {
	c.Emit(sallyport.Progress{Message: "sending a mail to " + in.To})
	err := c.Mail.Send(ctx, sallyport.Message{To: []string{in.To}, Subject: in.Subject, Body: in.Body, HTML: in.HTML})
	if err != nil {
		return sallyport.Result{}, err
	}
	r := sallyport.OK("The relay accepted the mail to " + in.To + ".")
	r.Structured = map[string]any{"accepted": true, "to": in.To}
	return r, nil
}
