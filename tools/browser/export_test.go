package browser

import (
	"time"

	"github.com/sallyport/sallyport"
)

// Family is the tools with their browsers.
type Family struct{ *family }

// NewFamily makes one that waits for pages as long as it does for users.
func NewFamily() Family { return Family{newFamily(nil)} }

// Tools are its tools.
func (f Family) Tools() []sallyport.Tool { return f.listTools() }

// End ends its browsers.
func (f Family) End() error { return f.endBrowsers() }

// Hasten has the family wait for pages less long.
func (f Family) Hasten(load, act, ping time.Duration) { f.patience = patience{load, act, ping} }
