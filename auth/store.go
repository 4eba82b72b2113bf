package auth

import "context"

// Store keeps the principals that the command line made. Each method sees
// what every other process had done, and returned from, before it began. All
// methods are safe for concurrent use.
type Store interface {
	// Add keeps a new record. It returns an error that matches [ErrTaken]
	// when a record, revoked or not, has its name or its token.
	Add(ctx context.Context, r *Record) error
	// Update hands the record of a name to change and keeps what it makes of
	// it, in one transaction. An error of change is returned and nothing is
	// kept; no record of the name is [ErrUnknown]. The name cannot change.
	Update(ctx context.Context, name string, change func(r *Record) error) error
	// ByToken returns the record of a token's hash; ok is false when there is
	// none.
	ByToken(ctx context.Context, hash string) (r Record, ok bool, err error)
	// All returns every record, sorted by name.
	All(ctx context.Context) ([]Record, error)
}

// SwitchStore keeps kill switches. Each method sees what every other process
// did before it began. All methods are safe for concurrent use.
type SwitchStore interface {
	// Stop throws a switch. One that is thrown already keeps its time and
	// gets the new reason.
	Stop(ctx context.Context, s *Switch) error
	// Start releases a switch; was is false when it was not thrown.
	Start(ctx context.Context, kind SwitchKind, name string) (was bool, err error)
	// Stopped returns the first of [SwitchTargets] for which a switch is thrown.
	Stopped(ctx context.Context, principal, sessionKey, tool string) (s Switch, ok bool, err error)
	// All returns the switches that are thrown, by kind and name.
	All(ctx context.Context) ([]Switch, error)
}
