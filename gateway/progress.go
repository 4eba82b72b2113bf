package gateway

import (
	"encoding/json"
	"sync"

	"github.com/sallyport/sallyport"
)

// maxProgress bounds the notifications of one call. The protocol asks for a
// limit, and a person reads only a handful.
const maxProgress = 1000

// progressRelay sends the progress of one call to the client that asked for it: as
// progress notifications under its token, and as log messages when it set a
// level.
type progressRelay struct {
	request  *request
	token    json.RawMessage // nil when the client asked for no progress
	messages bool            // the client set a level

	mu    sync.Mutex
	over  bool
	count int
	sent  float64
}

// progressNote is a progress notification. The token is repeated as it was given.
type progressNote struct {
	Token    json.RawMessage `json:"progressToken"`
	Message  string          `json:"message,omitempty"`
	Progress float64         `json:"progress"`
	Total    float64         `json:"total,omitempty"`
}

// messageNote is a log message.
type messageNote struct {
	Data   string `json:"data"`
	Level  string `json:"level"`
	Logger string `json:"logger,omitempty"`
}

// newRelay returns the relay of a call, or nil when the client asked for
// nothing. A token is a string or a number; any other value counts as none.
func newRelay(r *request) *progressRelay {
	token := r.Meta.Value("progressToken")
	if token != nil && token[0] != '"' && token[0] != '-' && (token[0] < '0' || token[0] > '9') {
		token = nil
	}
	messages := false
	if !r.rounds {
		_, _, messages = r.session.state()
	}
	if token == nil && !messages {
		return nil
	}
	return &progressRelay{request: r, token: token, messages: messages}
}

// sendProgress passes on an event that is meant for the user.
func (l *progressRelay) sendProgress(p sallyport.Progress) {
	if p.VisibleTo() != sallyport.AudienceUser {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.count == maxProgress {
		return
	}
	l.count++
	// If the client has gone, its call goes on until it is cancelled.
	if l.token != nil {
		n := progressNote{Token: l.token, Message: p.Message}
		n.Progress, n.Total = l.nextStep(p.Percent)
		_ = l.request.notify(methodProgress, &n)
	}
	if l.messages && p.Message != "" {
		_ = l.request.notify(methodMessage, &messageNote{Data: p.Message, Level: string(messageLevel), Logger: p.Tool})
	}
}

// nextStep returns the next value, which must grow with every notification, and the
// total, which is 0 when it is unknown. A percentage that does not grow is sent
// as slightly more than the last one.
func (l *progressRelay) nextStep(percent *float64) (progress, total float64) {
	switch {
	case percent == nil:
		l.sent++
	case *percent > l.sent:
		l.sent = *percent
	default:
		l.sent += 0.01
	}
	if percent != nil && l.sent <= 100 {
		total = 100
	}
	return l.sent, total
}

// closeRelay ends the relay: no notification may follow the result.
func (l *progressRelay) closeRelay() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
}
