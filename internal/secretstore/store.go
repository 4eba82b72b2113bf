package secretstore

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/output"
)

const (
	// maxValueBytes bounds a value: a private key or a service account file has
	// a few KiB, a certificate chain seldom more than 20.
	maxValueBytes = 64 << 10
	// maxSecrets bounds the secrets of one store.
	maxSecrets = 4096
)

// Store is a source whose values a user sets.
type Store interface {
	sallyport.SecretSource
	// Set stores the value of a reference in place of the one before. On an
	// error the store is as it was.
	Set(ctx context.Context, ref string, value sallyport.Secret) error
	// Remove removes a reference; ok is false when the store does not have it.
	Remove(ctx context.Context, ref string) (ok bool, err error)
}

// Lister is a source that knows the references that it has.
type Lister interface {
	// Refs returns the sorted references.
	Refs(ctx context.Context) ([]string, error)
}

// checkNew says why a value cannot be stored under a reference. The error does
// not have the value.
func checkNew(ref string, value sallyport.Secret) error {
	if err := reach.CheckRef(ref); err != nil {
		return err
	}
	return checkValue(ref, value.Reveal())
}

// checkValue refuses a value that no accessor hands out. The text may reach the
// caller: it names the reference and the rule.
func checkValue(ref, value string) error {
	why := ""
	switch {
	case len(value) < reach.MinSecretBytes:
		why = fmt.Sprintf("its value has fewer than %d bytes", reach.MinSecretBytes)
	case len(value) > maxValueBytes:
		why = fmt.Sprintf("its value is larger than %d bytes", maxValueBytes)
	case !utf8.ValidString(value):
		why = "its value is not text in UTF-8; store it in base64"
	default:
		err := output.CheckSecret(sallyport.NewSecret(value))
		if err == nil {
			return nil
		}
		why = err.Error()
	}
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: ref, Operation: "get",
		Detail: "secret " + ref + " is refused: " + why,
	}
}
