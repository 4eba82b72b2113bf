// Package scoped holds the accessors: the objects through which a tool reaches
// hosts, files, secrets, stores, processes, attachments, databases and mail,
// each held to the grant of one call.
//
// Start with [New], which compiles the grant of a tool under a personality
// once, and [Scope.Bind], which gives a call its accessors. Nothing of a call
// is nil afterwards: what was not granted refuses, with the reason. The
// package does not compute grants and does not confine Go code that goes
// around its accessors.
package scoped

import (
	"context"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// Scope is the compiled grant of one tool under one personality. It is shared
// by all their calls and safe for concurrent use.
type Scope struct {
	tool     string
	grant    *sallyport.Grant
	backends sallyport.Backends
	// network and files are nil when nothing of theirs is granted.
	network *networkReach
	files   *fileReach
	// display is a copy for tools to look at: one that writes into it changes
	// nothing that is enforced.
	display    sallyport.NetworkGrant
	recipients []reach.Recipient
	maxValue   int64
	// running is the children of calls that wait for them.
	running childSet
	// bare says that no accessor has anything to say but no.
	bare bool
}

// New compiles a grant. A group that is granted and has no backend is an
// error with [sallyport.CodeNotAvailable]; b may be nil when nothing is
// granted. The grant and what b points to must not be changed afterwards; the
// caller closes the scope.
func New(tool string, g *sallyport.Grant, b *sallyport.Backends) (*Scope, error) {
	s := &Scope{tool: tool, grant: g, maxValue: defaultValueBytes}
	if b != nil {
		s.backends = *b
	}
	if missing := s.missingBackend(); missing != "" {
		return nil, &sallyport.Error{
			Code: sallyport.CodeNotAvailable, Resource: tool, Operation: missing,
			Detail: "Tool " + tool + " declares capabilities but no capability backends are configured",
		}
	}
	if l, ok := s.backends.KV.(valueLimiter); ok {
		if n := l.MaxValueBytes(); n > 0 {
			s.maxValue = n
		}
	}
	s.display = g.Network
	s.display.Allow, s.display.Deny = slices.Clone(g.Network.Allow), slices.Clone(g.Network.Deny)
	granted := func(one group.Group) bool { return one.Granted(g) }
	s.bare = len(g.Dropped) == 0 && !slices.ContainsFunc(group.All(), granted)
	if err := s.compileGroups(); err != nil {
		s.Close()
		return nil, fmt.Errorf("tool %s: %w", tool, err)
	}
	return s, nil
}

// compileGroups prepares the groups that have something to prepare.
func (s *Scope) compileGroups() (err error) {
	if len(s.grant.Network.Allow) > 0 {
		if s.network, err = newNetworkReach(s.grant.Network, s.backends.Network); err != nil {
			return fmt.Errorf("%s: %w", group.Network, err)
		}
	}
	if len(s.grant.FS.Read) > 0 || len(s.grant.FS.Write) > 0 {
		if s.files, err = newFileReach(s.grant.FS, s.backends.Files); err != nil {
			return fmt.Errorf("%s: %w", group.Files, err)
		}
		s.files.places = s.backends.Places
	}
	if s.grant.Mail != nil {
		if s.recipients, err = reach.ParseRecipients(s.grant.Mail.To); err != nil {
			return fmt.Errorf("%s: %w", group.Mail, err)
		}
	}
	return nil
}

// missingBackend returns the first group that is granted without a backend. The
// gate asks the same earlier and with better words; this is the last line.
func (s *Scope) missingBackend() string {
	for i := range group.All() {
		if g := &group.All()[i]; g.Granted(s.grant) && g.Wired != nil && !g.Wired(&s.backends) {
			return g.Name
		}
	}
	return ""
}

// Grant returns the grant that was compiled. It must not be changed.
func (s *Scope) Grant() *sallyport.Grant { return s.grant }

// Close frees what the scope holds open. No call may be running.
func (s *Scope) Close() {
	if s.network != nil {
		s.network.closeClient()
	}
	if s.files != nil {
		s.files.closeEntries()
	}
}

// Turn is what the caller of one call brings along.
type Turn struct {
	// Attachments is the files of the turn.
	Attachments []sallyport.Attachment
	// Input asks the caller; nil when it cannot be asked.
	Input sallyport.Input
	// Outlive is told of children that may outlive the call: see
	// [sallyport.Call.Outlive]. narrow has a child reach less, and reports whether
	// it does. nil is told nothing.
	Outlive func(what string, shared bool, end func(why error), narrow func(sallyport.NetworkGrant) bool) (over func())
}

// Bind sets the accessors and the network policy of a call, whose identity
// and workspace must be set already, and returns what the gate needs at the
// end of the call. The context is that of the call.
//
// The accessors report to note what they refused and the weightier things
// they allowed. They call it without a lock, from whatever goroutines the tool
// starts, so note must be safe for concurrent use; nil drops the decisions. At
// most 100 decisions come from one call's granted groups.
//
// A tool without grant costs no allocation; its binding is nil, whose methods
// work.
func (s *Scope) Bind(
	ctx context.Context, c *sallyport.Call, turn Turn, note func(sallyport.Decision),
) (*Binding, error) {
	for i := range accessors {
		accessors[i].refuse(c, note)
	}
	c.NetworkPolicy = s.display
	if s.bare {
		return nil, nil
	}
	b := &Binding{
		scope: s, call: ctx, session: c.SessionKey, personality: c.Personality, principal: c.Principal.Name,
		workspace: c.Workspace, memoryScope: c.MemoryScope, id: c.ID, tainted: c.Tainted, turn: turn, out: note,
	}
	for i := range accessors {
		accessors[i].bind(ctx, b, c)
	}
	return b, nil
}
