package sallyport

import "context"

// DatabaseCapability declares named connections.
type DatabaseCapability struct {
	// Connections lists connection names of the operator's configuration.
	Connections []string `json:"connections"`
	// Mode is read when empty.
	Mode AccessMode `json:"mode,omitempty"`
}

// AccessMode says whether a database is only read or also written.
type AccessMode string

// The access modes. The empty mode means read.
const (
	// ModeRead allows reading only; the database engine enforces it.
	ModeRead AccessMode = "read"
	// ModeWrite allows changes of data.
	ModeWrite AccessMode = "write"
)

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

// DatabaseBackend runs queries on named connections. It must be safe for
// concurrent use.
type DatabaseBackend interface {
	Query(ctx context.Context, connection string, mode AccessMode, query string, args []any) (Table, error)
}

// TargetNamer is implemented by a [DatabaseBackend] or [MailBackend] that can
// say what one of its names stands for. A held call shows that target and is
// bound to it, so that an approval for one server does not count for another
// server that has got its name.
type TargetNamer interface {
	// Target returns what a name stands for at this moment, on one line for
	// people and without credentials: engine, server, database and account, or
	// relay and sender. An error means that the target is not known; its text
	// is not shown.
	Target(ctx context.Context, name string) (string, error)
}
