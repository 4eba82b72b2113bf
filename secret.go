package sallyport

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"unique"
)

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

// SecretSource finds secret values. It must be safe for concurrent use.
type SecretSource interface {
	// Secret returns the value of a reference; ok is false when this source
	// does not have it.
	Secret(ctx context.Context, ref string) (s Secret, ok bool, err error)
	// Known returns every value that the source can return at present, so that
	// the gate removes them all from results.
	Known(ctx context.Context) ([]Secret, error)
}
