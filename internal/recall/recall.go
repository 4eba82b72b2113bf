// Package recall is what agents keep for later, and find again: notes on shelves, and the
// calls that were recorded. It holds the words of it; package recallstore keeps notes.
//
// A shelf belongs to a session, to a principal in a role, or to a role. What was kept
// after untrusted content was read stands on a side of its own: it never takes the place
// of a trusted note, and never makes room for itself among them.
package recall

import (
	"context"
	"net/url"
	"time"

	"github.com/sallyport/sallyport"
)

// Reach says who shares a shelf.
type Reach string

// The reaches, from the narrowest on.
const (
	// Session: the calls of one session.
	Session Reach = "session"
	// Own: all sessions of a principal in a role.
	Own Reach = "own"
	// Role: all principals in a role.
	Role Reach = "role"
)

// SearchTool is the name of the tool that finds recorded calls. Its own calls are not found:
// they have the words of what they looked for.
const SearchTool = "session_search"

// Reaches returns all reaches, from the narrowest on.
func Reaches() []Reach { return []Reach{Session, Own, Role} }

// Bounds of notes.
const (
	// MaxKeyChars bounds the name of a note.
	MaxKeyChars = 128
	// MaxTextChars bounds its text: a note is a thing to know, not a document.
	MaxTextChars = 8000
	// MaxFound bounds the notes of one answer.
	MaxFound = 50
	// MaxLifetime is the longest time that a note is kept.
	MaxLifetime = 10 * 365 * 24 * time.Hour
	// SessionLifetime is the longest time that a note of a session is kept.
	SessionLifetime = 30 * 24 * time.Hour
)

// Owner says whose shelves a call may use. Scope is what the caller calls its memory: it
// divides each shelf and opens no other one.
type Owner struct {
	// Role and Principal are who calls, and in which role; they may be empty.
	Role, Principal string
	// SessionKey is unique over all principals.
	SessionKey string
	// Scope is what the caller calls its memory; it may be empty.
	Scope string
}

// Shelf returns the name of a shelf; empty when the call has none, because it has no
// role or no session.
func (o Owner) Shelf(r Reach) string {
	name := ""
	switch r {
	case Session:
		if o.SessionKey != "" {
			name = "session/" + url.PathEscape(o.Role) + "/" + url.PathEscape(o.SessionKey)
		}
	case Own:
		if o.Principal != "" {
			name = "own/" + url.PathEscape(o.Role) + "/" + url.PathEscape(o.Principal)
		}
	case Role:
		if o.Role != "" {
			name = "role/" + url.PathEscape(o.Role)
		}
	}
	if name == "" {
		return ""
	}
	return name + "/" + url.PathEscape(o.Scope)
}

// Note is one thing that was kept.
type Note struct {
	// Reach is whose shelf it stands on.
	Reach Reach
	// Key is its name there.
	Key string
	// Text is what was kept.
	Text string
	// Untrusted is true when it was kept after untrusted content was read.
	Untrusted bool
	// Call is the call that kept it.
	Call string
	// Author is the principal that kept it. Find does not tell it.
	Author string
	// Written is when, Expires when it is forgotten.
	Written, Expires time.Time
}

// Query selects notes.
type Query struct {
	// Reaches lists the shelves; nil means all.
	Reaches []Reach
	// Key is the name of the note; empty means any.
	Key string
	// Words are what notes are searched for, unless Key is set; empty means the newest.
	Words string
	// Most is the number of notes, 1 to MaxFound.
	Most int
	// Untrusted asks for the untrusted notes, too.
	Untrusted bool
}

// Found is the answer to a query.
type Found struct {
	// Notes are those that were found, best first.
	Notes []Note
	// Withheld is the number of untrusted notes that match and were not asked for, at
	// most MaxFound.
	Withheld int
}

// Memory is the memory of one call: it holds the call to its shelves, and marks what it
// keeps. It is safe for concurrent use.
type Memory interface {
	// Keep stores a note under its key, in place of what the key had on the same side.
	// Of the note Reach, Key and Text count; a lifetime of 0 means a year, or that of a
	// session. It returns the note as it is stored.
	Keep(ctx context.Context, n Note, lifetime time.Duration) (Note, error)
	// Find answers a query.
	Find(ctx context.Context, q Query) (Found, error)
	// Forget removes the note of a key, and returns how many were removed. After
	// untrusted content was read it removes untrusted ones alone.
	Forget(ctx context.Context, r Reach, key string) (int, error)
	// Calls finds recorded calls of the caller's own sessions in its role.
	Calls(ctx context.Context, q CallQuery) (Calls, error)
}

// CallQuery selects recorded calls of one principal in one role.
type CallQuery struct {
	// Principal and Role are set by the memory of the call.
	Principal, Role string
	// Session is the id of one session; empty means all.
	Session string
	// Words are what calls are searched for; empty means the newest.
	Words string
	// Since is the earliest time; the zero time means any.
	Since time.Time
	// Most is the number of calls, at least 1.
	Most int
}

// Calls is the answer to a CallQuery.
type Calls struct {
	// List begins with the best.
	List []PastCall
	// Back is how far the search went; the zero time when it knew every call.
	Back time.Time
}

// PastCall is what the record has of a call.
type PastCall struct {
	// ID is the id of the call, Session that of its session.
	ID, Session string
	// Tool is what was called, Args its arguments as JSON.
	Tool, Args string
	// Said is the error of the call, or the full value where the record has it.
	Said string
	// OK is true for a success.
	OK bool
	// Time is when the call ended.
	Time time.Time
}

// Store keeps notes by shelf. It is safe for concurrent use, and for use by several
// processes where they share it.
type Store interface {
	// Put stores a note on a shelf in place of the one with its key on its side.
	Put(ctx context.Context, shelf string, n Note) error
	// Find answers a query over shelves by reach.
	Find(ctx context.Context, shelves map[Reach]string, q Query) (Found, error)
	// Forget removes the notes of a key; trusted ones only when trusted is true.
	Forget(ctx context.Context, shelf, key string, trusted bool) (int, error)
	// ForgetAuthor removes all notes that a principal kept, on every shelf.
	ForgetAuthor(ctx context.Context, principal string) (int, error)
}

// History finds recorded calls.
type History interface {
	Calls(ctx context.Context, q CallQuery) (Calls, error)
}

// Backend is a key-value factory that keeps notes and finds calls, too.
type Backend interface {
	sallyport.KVFactory
	Recall() (Store, History)
}

// Of returns the memory of a call with the given store, nil when it has none.
func Of(kv sallyport.KV) Memory {
	if m, ok := kv.(interface{ Memory() Memory }); ok {
		return m.Memory()
	}
	return nil
}
