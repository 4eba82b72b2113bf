// Package heartbeat tells the user of a call, while it goes on, that it does.
package heartbeat

import (
	"fmt"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// first is when a call is long enough to be told about, and step the time between
	// two reports.
	first, step = 2 * time.Second, 5 * time.Second
	// most bounds the reports of one call: about eight minutes.
	most = 100
)

// Start reports to the user of a call, from its second second on, that something goes on:
// what, since when, and what detail says of it. A nil detail says nothing. Call stop when it
// is over. detail is called from another goroutine.
func Start(c *sallyport.Call, what string, detail func() string) (stop func()) {
	if c.Emit == nil {
		return func() {}
	}
	var mu sync.Mutex
	var timer *time.Timer
	over, count, begin := false, 0, time.Now()
	beat := func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		message := fmt.Sprintf("%s, %v so far", what, time.Since(begin).Round(time.Second))
		if detail != nil {
			if said := detail(); said != "" {
				message += ": " + said
			}
		}
		c.Emit(sallyport.Progress{Message: message, Audience: sallyport.AudienceUser})
		if count++; count < most {
			timer.Reset(step)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(first, beat)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}
