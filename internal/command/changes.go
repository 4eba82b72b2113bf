package command

import (
	"fmt"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
)

// describeRecord describes what a principal holds. The text holds nothing of
// its token.
func describeRecord(r *auth.Record) string {
	return fmt.Sprintf("permissions %q, personalities %q, expires %s", r.Permissions, r.Personalities, formatExpiry(r.Expires))
}

// describeChange describes a change on one line.
func describeChange(e *audit.Event) string {
	c := e.Change
	text := fmt.Sprintf("%s %s by %s", c.Action, c.Target, e.Principal)
	if c.User != "" {
		text += " (user " + c.User + ")"
	}
	if c.Detail != "" {
		text += ": " + string(c.Detail)
	}
	if e.Error != "" {
		text += " -> not done: " + truncateRunes(string(e.Error), 160)
	}
	// A reason or a session name is text from another party.
	return escapeControls(text)
}
