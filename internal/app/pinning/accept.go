package pinning

import (
	"context"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

// Acceptance is the JSON answer of lock accept.
type Acceptance struct {
	// File is the path of the lock file.
	File string `json:"file"`
	// Scope is what was pinned: everything, a server or a tool.
	Scope string `json:"scope"`
	// SHA256 is the digest of what is pinned now.
	SHA256 string `json:"sha256"`
	// Changes lists what differs from the previous pins.
	Changes []lock.Change `json:"changes"`
	// Next says what the user still has to do.
	Next string `json:"next,omitempty"`
}

// Accept pins a part of what servers are and offer, as the comparison found it,
// when its digest begins as expected. The error is a [lock.Mismatch] when it does
// not.
func (d *LockDiff) Accept(ctx context.Context, rt *app.Runtime, s lock.Scope, expect string) (*Acceptance, error) {
	for i := range d.Servers {
		if st := &d.Servers[i]; st.State == StateUnknown || st.State == StateUnpinned && s.Server != "" {
			return nil, fmt.Errorf("%s: %s", st.Server, st.Why)
		}
	}
	was := rt.InForce().Servers.Pins.File
	next, err := was.Approve(d.now.file, s, expect)
	if err != nil {
		return nil, err
	}
	a := Acceptance{File: d.File, Scope: s.String(), Changes: append([]lock.Change{}, lock.Diff(was, next)...)}
	if a.SHA256, err = next.Digest(s); err != nil {
		return nil, err
	}
	detail := text.CountOf(len(a.Changes), "change") + ", digest " + a.SHA256
	if err := writeLock(ctx, rt, next, app.ChangeEvent(audit.ActionPinApprove, s.String(), detail)); err != nil {
		return nil, err
	}
	a.Next = d.nextServers(s)
	return &a, nil
}

// nextServers lists the servers that were not asked yet what they offer.
func (d *LockDiff) nextServers(s lock.Scope) string {
	var held []string
	for i := range d.Servers {
		if st := &d.Servers[i]; st.State == StateChanged && !st.Started && s.Tool == "" {
			held = append(held, st.Server)
		}
	}
	switch len(held) {
	case 0:
		return ""
	case 1:
		return "next: sallyport diff " + held[0] + " shows what it offers now that its launch is accepted"
	default:
		return "next: sallyport diff shows what " + strings.Join(held, ", ") + " offer now that their launch is accepted"
	}
}
