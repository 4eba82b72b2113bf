package browser

import "time"

// Hasten has the family wait for pages less long.
func (f *Family) Hasten(load, act, ping time.Duration) { f.patience = patience{load, act, ping} }
