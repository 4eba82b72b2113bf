package gateway

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// maxProgress bounds the notifications of one call. The protocol asks for a
// limit, and a person reads only a handful.
const maxProgress = 1000

// progressRelay sends the progress of one call to the client that asked for it: as
// progress notifications under its token, and as log messages when it set a
// level.
type progressRelay struct {
	session  *mcp.ServerSession
	token    any  // nil when the client asked for no progress
	messages bool // the client set a level

	mu    sync.Mutex
	over  bool
	count int
	sent  float64
}

// newRelay returns the relay of a call, or nil when the client asked for
// nothing. A token is a string or a number; any other value counts as none.
func (s *Server) newRelay(ctx context.Context, req mcp.Request) *progressRelay {
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return nil
	}
	l := &progressRelay{session: session, messages: s.wantsMessages(ctx, session)}
	if p, ok := req.GetParams().(interface{ GetProgressToken() any }); ok {
		switch token := p.GetProgressToken().(type) {
		case string, float64:
			l.token = token
		}
	}
	if l.token == nil && !l.messages {
		return nil
	}
	return l
}

// sendProgress passes on an event that is meant for the user.
func (l *progressRelay) sendProgress(ctx context.Context, p sallyport.Progress) {
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
		n := &mcp.ProgressNotificationParams{ProgressToken: l.token, Message: p.Message}
		n.Progress, n.Total = l.nextStep(p.Percent)
		_ = l.session.NotifyProgress(ctx, n)
	}
	if l.messages && p.Message != "" {
		sendLogMessage(ctx, l.session, p)
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
