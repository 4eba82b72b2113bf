package sallyport

import "context"

// MailCapability declares a relay and recipients.
type MailCapability struct {
	// Relay is the name of a relay in the operator's configuration; empty means
	// default.
	Relay string `json:"relay,omitempty"`
	// To lists addresses, or "*@example.com" for a whole domain.
	To []string `json:"to"`
}

// Mail is the mail accessor. It is safe for concurrent use.
type Mail interface {
	// Send hands a message to the granted relay. A recipient outside the grant
	// makes it refuse the whole message.
	Send(ctx context.Context, m Message) error
}

// Message is a mail to be sent.
type Message struct {
	// To lists the recipients' addresses.
	To []string
	// Subject and Body are text. Body is HTML when HTML is true.
	Subject, Body string
	// HTML is true when Body is HTML, and false for plain text.
	HTML bool
}

// MailBackend hands messages to named relays. It must be safe for concurrent
// use.
type MailBackend interface {
	Send(ctx context.Context, relay string, m Message) error
}
