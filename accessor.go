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

// Network is the network accessor. Both ways out obey the same grant, and the
// address actually dialled is judged after DNS. Errors match
// ErrHostNotAllowed when the grant or the floor refuses. It is safe for
// concurrent use.
type Network interface {
	// Client returns a client for any SDK that takes one. It follows
	// redirects itself, checks each hop against the grant, never uses a
	// proxy of the environment, and bounds size and time.
	Client() *http.Client
	// DialContext opens a TCP connection for drivers that want one. The
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
	// UpdateFile reads a file, passes the content to edit and replaces it
	// with what edit returns, all under one lock, so that two updates never
	// lose one. An error of edit leaves the file as it was and is returned.
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
	// Get returns the value of a granted reference. A reference that the
	// backend does not have is an error that names the reference only.
	Get(ctx context.Context, ref string) (Secret, error)
}

// Secret is a value that does not print, not even as a field that package fmt
// may not call methods on. The zero Secret is empty. Two secrets are equal
// when their values are.
type Secret struct {
	// A handle compares like its text and hides it behind a pointer: fmt
	// prints an address where it cannot call Format.
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

// Reveal returns the value. The name is for reviewers to search for.
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

// KV is a key-value store that is already scoped: keys need no prefix. What
// was acknowledged survives a crash of the process. It is safe for concurrent
// use.
type KV interface {
	// Get returns a value; ok is false when the key is absent or expired.
	Get(ctx context.Context, key string) (value string, ok bool, err error)
	// Set stores a value. The lifetime ttl beats the declared default; 0
	// means the default; a negative one is an error. A key has at most 512
	// bytes, a value 1 MiB unless the operator configured otherwise.
	Set(ctx context.Context, key, value string, ttl time.Duration) error
	// Delete removes a key. A missing key is no error.
	Delete(ctx context.Context, key string) error
	// List returns the sorted names of the live keys that begin with prefix,
	// compared case-sensitively.
	List(ctx context.Context, prefix string) ([]string, error)
}

// Attachment describes one file of a turn.
type Attachment struct {
	// Ref is opaque.
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
	// Open opens one of them by ref. The caller closes it.
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
	// More is true when rows were left out.
	More bool
}

// Mail is the mail accessor. It is safe for concurrent use.
type Mail interface {
	// Send hands a message to the granted relay. A recipient outside the
	// grant refuses the whole message.
	Send(ctx context.Context, m Message) error
}

// Message is a mail to be sent.
type Message struct {
	// To lists the recipients' addresses.
	To []string
	// Subject and Body are text; HTML says that Body is HTML.
	Subject, Body string
	// HTML is false for plain text.
	HTML bool
}
