package app

import (
	"time"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/store"
)

// pastState is the state whose calls are decided again, and the time of the call at hand.
type pastState struct {
	store.State
	now   time.Time
	tasks *conversation.Memory
}

// clock returns the clock of the past, nil for that of the present.
func (p *pastState) clock() func() time.Time {
	if p == nil {
		return nil
	}
	return func() time.Time { return p.now }
}

