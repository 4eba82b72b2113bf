package store

import (
	"context"
	"io"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
)

// State is everything that a gate stores, and the whole contract of a backend.
// Package storetest checks a backend against it. It is joined from small
// interfaces, each of which states its own rules; these rules hold for all of
// them:
//
// Concurrency: every method is safe for concurrent use. A state that several
// processes share stays one state: a change that one process has finished is
// seen by each call that another process begins afterwards.
//
// Durability: in a durable state, what a method has acknowledged survives the
// death of the process. Records survive a loss of power after Sync; held
// calls, settings, principals, switches, write places and key-value writes
// survive it when their method returns. Counted calls, remembered reads and
// facts of the last moments may be lost with the power. A state in memory
// survives nothing.
//
// Errors: a failure of the backend matches one of the Err variables of this
// package, and its text quotes no driver. A refusal matches an error of the
// package that declares the interface, such as [auth.ErrTaken] or
// [sallyport.ErrApprovalUnknown]. A key or a value that a tool made too long
// is the tool's fault: a [sallyport.Error] with the code input_invalid. When
// the context ends first, the error matches that of the context, and nothing
// is stored.
//
// Units: sizes are in bytes, and times are exact to the nanosecond. A scope, a
// key, a session or a path may hold any bytes and is compared byte by byte.
type State interface {
	// The audit chain: sealing, reading and pruning records.
	audit.Store
	audit.Pruner
	// The key-value stores of tools. A scope is opened, not created: an empty
	// one takes no room. Limits bounds keys and values.
	sallyport.KVFactory
	// What sessions have read. Limits bounds how many reads of a session are
	// remembered, and for how long.
	sallyport.ReadMemory
	// Rate limits. The error matches [ErrFull] when more keys are in use than
	// Limits allows; a key that still counts is never forgotten for another.
	sallyport.Limiter
	Access

	// Approvals returns the held calls. A caller that waits for a decision
	// through the same State sees it at once, and a decision of another
	// process within a second.
	Approvals() sallyport.ApprovalStore
	// Settings returns the named values of the program itself.
	Settings() Settings
	// Close waits for the methods under way and releases the state. Closing
	// twice is safe. Every later use fails with an error that matches
	// [ErrClosed]; only the held calls and the facts of a state in memory stay
	// usable.
	io.Closer
}

// Access is the part of a [State] that an operator inspects and changes: who
// may call, what is stopped, what conversations have read, and where tools may
// write.
type Access interface {
	// Principals returns the principals that the command line made.
	Principals() auth.Store
	// Switches returns the kill switches.
	Switches() auth.SwitchStore
	// Facts returns the facts of sessions and principals.
	Facts() sallyport.FactStore
	// The places in which tools may write, or could write before.
	sallyport.PlaceLedger
}

// Settings stores named values, such as the hash of a token. It is safe for
// concurrent use, and for use by several processes where they share the state.
type Settings interface {
	// Get returns a value; ok is false when the name has none.
	Get(ctx context.Context, name string) (value string, ok bool, err error)
	// Put stores or replaces a value.
	Put(ctx context.Context, name, value string) error
	// Delete removes a value. A name without a value is no error.
	Delete(ctx context.Context, name string) error

	// The two methods below store a value on a condition. Of several callers at once,
	// in any number of processes, at most one changes a value.

	// PutIfAbsent stores a value unless the name has one, which it then
	// returns; stored is false in that case.
	PutIfAbsent(ctx context.Context, name, value string) (existing string, stored bool, err error)
	// Swap replaces a value if it still is old; swapped is false when it is
	// not, or when the name has no value.
	Swap(ctx context.Context, name, old, value string) (swapped bool, err error)
}

// DamageChecker is implemented by a [State] that can find damage outside the
// records, such as an index that does not agree with its table.
type DamageChecker interface {
	// Check reads the whole state. The error matches [ErrDamaged] when its
	// parts do not agree.
	Check(ctx context.Context) error
}

// FullReporter is implemented by a [State] that knows that it has no room for
// the next record, even while a small write still succeeds.
type FullReporter interface {
	// Full reports whether the next record would not fit.
	Full() bool
}
