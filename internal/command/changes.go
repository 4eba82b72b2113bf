package command

import (
	"fmt"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/text"
)

// describeRecord describes what a principal holds. The text holds nothing of
// its token.
func describeRecord(r *auth.Record) string {
	return fmt.Sprintf("permissions %q, personalities %q, expires %s", r.Permissions, r.Personalities, formatExpiry(r.Expires))
}

// describeChange describes a change on one line.
func describeChange(e *audit.Event) string {
	c := e.Change
	line := fmt.Sprintf("%s %s by %s", c.Action, c.Target, e.Principal)
	if c.User != "" {
		line += " (user " + c.User + ")"
	}
	if c.Detail != "" {
		line += ": " + string(c.Detail)
	}
	if e.Error != "" {
		line += " -> not done: " + text.Clip(string(e.Error), 160)
	}
	// A reason or a session name is text from another party.
	return escapeControls(line)
}
