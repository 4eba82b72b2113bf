// Package notices tells people of held calls where they are: by webhooks and by mail.
// A notice decides nothing. What is sent is what the gate knows of the call, cleaned; what
// a receiver answers is not read.
//
// No call waits for a receiver, and no receiver for another one: each
// has a bounded queue and a goroutine of its own.
package notices

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
)

const (
	// maxArguments bounds the arguments in a notice, in bytes.
	maxArguments = 16 << 10
)

// Options say what a sender works with. Every field is required unless it says
// otherwise.
type Options struct {
	// Get returns a held call as it is now.
	Get func(ctx context.Context, id string) (sallyport.Approval, error)
	// Secret finds the secret of a receiver, for each try anew.
	Secret func(ctx context.Context, ref string) (s sallyport.Secret, ok bool, err error)
	// Known lists the secrets that must not appear in a notice.
	Known func(ctx context.Context) ([]sallyport.Secret, error)
	// SendMail hands a mail to a relay.
	SendMail func(ctx context.Context, relay string, m sallyport.Message) error
	// Network is how hosts are reached; the zero value means the system's.
	Network sallyport.NetworkBackend
	// Page returns the address of the page, without a final slash; empty where none is
	// served.
	Page func(ctx context.Context) string
	// Command returns the command that allows a held call.
	Command func(id string) string
	// Clean returns a line as a person may read it.
	Clean func(s string) string
	// RecordLoss is told of notices that could not be sent, by the name of the receiver.
	RecordLoss func(name string, count int64)
	// Logger receives what could not be sent.
	Logger *slog.Logger

	pauses pauses // the zero value means the documented ones
}

// Sender sends notices. It is safe for concurrent use.
type Sender struct {
	o       Options
	working sync.WaitGroup
	end     context.CancelFunc // of everything that runs
	ctx     context.Context    // ends with the sender

	mu        sync.Mutex
	receivers map[string]*receiver
	followed  []string        // the held calls that were announced and wait, the next to look at first
	known     map[string]bool // those of followed
	closed    bool
}

// Count is what became of the notices of a receiver.
type Count struct {
	// Sent, Lost and Waiting are how many notices were sent until now, could not be sent,
	// and wait.
	Sent, Lost, Waiting int64
}

// notice is one notice for one receiver.
type notice struct {
	id    string // the same for each try
	event string
	at    time.Time // when it happened
	asked time.Time // when it was queued
	call  sallyport.Approval
	cut   bool // the arguments are longer
	tries int
	body  []byte // of a webhook, once it was made
}

// checkUse returns why a notice is of no use any more.
func (n *notice) checkUse(now time.Time) error {
	switch {
	case n.event == config.NoticeHeld && !now.Before(n.call.Expires):
		return errors.New("the call is over")
	case now.Sub(n.asked) > maxAge:
		return errors.New("it is too old")
	}
	return nil
}
