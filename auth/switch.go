package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

// SwitchKind says what a kill switch stops.
type SwitchKind string

// The kinds of kill switches.
const (
	// SwitchPrincipal stops everything that a principal calls.
	SwitchPrincipal SwitchKind = "principal"
	// SwitchSession stops one session; the name is its key as
	// sallyport.SessionKey makes it.
	SwitchSession SwitchKind = "session"
	// SwitchTool stops a tool for everybody.
	SwitchTool SwitchKind = "tool"
	// SwitchServer stops every tool of an upstream server, and the server.
	SwitchServer SwitchKind = "server"
	// SwitchEverything stops every call; the name is [Everything].
	SwitchEverything SwitchKind = "everything"
)

// Everything is the name of the switch that stops every call.
const Everything = "*"

// Valid reports whether k is a kind of kill switch.
func (k SwitchKind) Valid() bool {
	return slices.Contains([]SwitchKind{SwitchPrincipal, SwitchSession, SwitchTool, SwitchServer, SwitchEverything}, k)
}

// SwitchTarget is what a switch may be thrown for.
type SwitchTarget struct {
	// Kind says what is stopped.
	Kind SwitchKind
	// Name is its name.
	Name string
}

// SwitchTargets lists what would stop a call, in the order in which it is named:
// that of the kinds in the alphabet. The key of a session, or a tool, may be
// empty, for none.
func SwitchTargets(principal, sessionKey, tool string) [5]SwitchTarget {
	_, name := sallyport.ParseID(tool)
	return [...]SwitchTarget{
		{SwitchEverything, Everything},
		{SwitchPrincipal, principal},
		{SwitchServer, (&sallyport.Tool{Name: name}).Server()},
		{SwitchSession, sessionKey},
		{SwitchTool, tool},
	}
}

const (
	// MaxSwitches is how many switches may be thrown at once.
	MaxSwitches = 10_000
	// maxReason bounds a reason, in bytes: a sentence or two.
	maxReason = 500
	// maxSwitchName bounds a name: a session key is an escaped principal and
	// an id.
	maxSwitchName = 2048
)

// Switch is a kill switch that is thrown. It stops calls that begin after it; the
// gate ends what runs already.
type Switch struct {
	// Kind says what is stopped.
	Kind SwitchKind `json:"kind"`
	// Name is the principal, the session key or the tool.
	Name string `json:"name"`
	// Reason is the operator's, for people; it may be empty.
	Reason string `json:"reason,omitempty"`
	// Since is when it was thrown.
	Since time.Time `json:"since"`
}

// Check refuses a switch that would stop nothing or that cannot be shown.
func (s *Switch) Check() error {
	switch {
	case !s.Kind.Valid():
		return fmt.Errorf("%q is no kind of a kill switch: expected principal, session, tool, server or everything", text.ClipBytes(string(s.Kind), quotedBytes))
	case s.Name == "" || len(s.Name) > maxSwitchName:
		return fmt.Errorf("a %s to stop has a name of 1 to %d bytes", s.Kind, maxSwitchName)
	case len(s.Reason) > maxReason || !utf8.ValidString(s.Reason) || strings.ContainsFunc(s.Reason, unicode.IsControl):
		return fmt.Errorf("the reason: expected at most %d bytes of text in one line", maxReason)
	}
	return nil
}

// String says in words what is stopped, since when and why.
func (s *Switch) String() string {
	what := string(s.Kind) + " " + s.Name
	switch s.Kind {
	case SwitchEverything:
		what = "everything"
	case SwitchSession:
		what = fmt.Sprintf("%s %q", s.Kind, s.Name) // an id of the caller's
	}
	line := what + " is stopped since " + s.Since.UTC().Format(time.RFC3339)
	if s.Reason != "" {
		line += ": " + s.Reason
	}
	return line
}

// Switches answers the gate. It asks the state at every call, so that a
// switch that another process threw counts at once.
type Switches struct {
	store SwitchStore
	now   func() time.Time
}

// NewSwitches returns the switches of a store.
func NewSwitches(store SwitchStore) (*Switches, error) {
	if store == nil {
		return nil, errors.New("auth: kill switches without a store would stop nothing")
	}
	return &Switches{store: store, now: time.Now}, nil
}

// Stop throws a switch; reason may be empty.
func (s *Switches) Stop(ctx context.Context, kind SwitchKind, name, reason string) error {
	sw := Switch{Kind: kind, Name: name, Reason: reason, Since: s.now()}
	if err := sw.Check(); err != nil {
		return fmt.Errorf("auth: %w", err)
	}
	return s.store.Stop(ctx, &sw)
}

// Start releases a switch; was is false when it was not thrown.
func (s *Switches) Start(ctx context.Context, kind SwitchKind, name string) (was bool, err error) {
	return s.store.Start(ctx, kind, name)
}

// All returns what is stopped, by kind and name.
func (s *Switches) All(ctx context.Context) ([]Switch, error) { return s.store.All(ctx) }

// Stopped returns the kind of the first switch that stops a call, in the order of
// [SwitchTargets], and why in words for the operator. An empty kind
// means that nothing does. An error means that it is not known, which refuses.
func (s *Switches) Stopped(ctx context.Context, principal, sessionKey, tool string) (kind, why string, err error) {
	sw, ok, err := s.store.Stopped(ctx, principal, sessionKey, tool)
	if err != nil || !ok {
		return "", "", err
	}
	return string(sw.Kind), sw.String(), nil
}
