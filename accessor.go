package sallyport

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"time"
	"unique"
)

// Network is the network accessor. Client and DialContext obey the same grant,
// and the address that is actually dialled is checked after DNS. Errors match
// ErrHostNotAllowed when the grant or the floor refuses. It is safe for
// concurrent use.
type Network interface {
	// Client returns a client for any SDK that accepts one. The client follows
	// redirects itself and checks each hop against the grant, never uses a
	// proxy of the environment, and bounds size and time.
	Client() *http.Client
	// DialContext opens a TCP connection, for drivers that need one. The
	// network is tcp, tcp4 or tcp6, the address host:port.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// FS is the file accessor: an fs.FS that also writes. A name is absolute or
// relative to the workspace. Errors match ErrPathNotReachable when the grant
// or the floor refuses, fs.ErrNotExist when a reachable file is missing,
// ErrStaleWrite when the content is not what this session read. Only regular
// files are opened. It is safe for concurrent use.
type FS interface {
	fs.ReadFileFS
	fs.ReadDirFS
	fs.StatFS
	FSWriter
}

// FSWriter is the writing half of FS.
type FSWriter interface {
	// WriteFile replaces or creates a file atomically, creating missing
	// parents beneath the grant.
	WriteFile(name string, data []byte) error
	// UpdateFile reads a file, passes the content to edit and replaces it with
	// the result of edit, all under one lock, so that no concurrent update is
	// lost. When edit returns an error, UpdateFile leaves the file unchanged
	// and returns that error.
	UpdateFile(name string, edit func(old []byte) ([]byte, error)) error
	// MkdirAll creates a directory and its missing parents beneath the
	// grant.
	MkdirAll(name string) error
	// Abs returns the absolute, cleaned form of a name. It checks nothing.
	Abs(name string) string
}

// Secrets is the secrets accessor. Errors match ErrSecretNotDeclared. It is
// safe for concurrent use.
type Secrets interface {
	// Get returns the value of a granted reference. When the backend does not
	// have the reference, the error names only the reference.
	Get(ctx context.Context, ref string) (Secret, error)
}

// Secret is a value that never prints, not even as a field on which package fmt
// may not call methods. The zero Secret is empty. Two secrets are equal when
// their values are equal.
type Secret struct {
	// A handle compares like its text and hides the text behind a pointer:
	// where fmt cannot call Format, it prints an address.
	value unique.Handle[string]
}

const redacted = "[redacted]"

// NewSecret wraps a value. Backends use it.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{unique.Make(value)}
}

// Reveal returns the value. Reviewers search for this name.
func (s Secret) Reveal() string {
	if s == (Secret{}) {
		return ""
	}
	return s.value.Value()
}

// Format writes "[redacted]" for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String returns "[redacted]".
func (Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (Secret) GoString() string { return redacted }

// LogValue returns "[redacted]".
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON writes "[redacted]".
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal(redacted) }

// MarshalText writes "[redacted]".
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// KV is a key-value store that is already scoped: keys need no prefix.
// Acknowledged writes survive a crash of the process. It is safe for concurrent
// use.
type KV interface {
	// Get returns a value; ok is false when the key is absent or expired.
	Get(ctx context.Context, key string) (value string, ok bool, err error)
	// Set stores a value. A ttl of 0 means the declared default, a positive ttl
	// replaces the default, and a negative one is an error. A key has at most
	// 512 bytes, a value 1 MiB unless the operator configured another bound.
	Set(ctx context.Context, key, value string, ttl time.Duration) error
	// Delete removes a key. A missing key is no error.
	Delete(ctx context.Context, key string) error
	// List returns the sorted names of the live keys that begin with prefix,
	// compared case-sensitively.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Attachment describes one file of a turn.
type Attachment struct {
	// Ref is an opaque reference to the file.
	Ref string `json:"ref"`
	// Kind is image or file.
	Kind AttachmentKind `json:"kind"`
	// Name is the file name for display.
	Name string `json:"name"`
	// MediaType is the type that the edge detected; it may be empty.
	MediaType string `json:"mediaType,omitempty"`
	// Bytes is the size.
	Bytes int64 `json:"bytes"`
}

// Attachments is the attachments accessor. It is safe for concurrent use.
type Attachments interface {
	// List returns the attachments of the granted kinds.
	List() []Attachment
	// Open opens a granted attachment by its ref. The caller closes it.
	Open(ctx context.Context, ref string) (io.ReadCloser, error)
}

// Databases is the database accessor. It is safe for concurrent use.
type Databases interface {
	// Query runs one statement with bound arguments on a granted connection.
	Query(ctx context.Context, connection, query string, args []any) (Table, error)
}

// Table is the bounded answer to a query.
type Table struct {
	// Columns is the names, in order.
	Columns []string
	// Rows holds one slice per row, as long as Columns.
	Rows [][]any
	// Affected is the number of changed rows of a write.
	Affected int64
	// More is true when the table leaves out rows.
	More bool
}

// Mail is the mail accessor. It is safe for concurrent use.
type Mail interface {
	// Send hands a message to the granted relay. A recipient outside the grant
	// makes it refuse the whole message.
	Send(ctx context.Context, m Message) error
}

// Message is a mail to be sent.
type Message struct {
	// To lists the recipients' addresses.
	To []string
	// Subject and Body are text. Body is HTML when HTML is true.
	Subject, Body string
	// HTML is true when Body is HTML, and false for plain text.
	HTML bool
}
