// Package secrets finds secret values where the operator keeps them: in
// environment variables and in a directory of files.
//
// Start with [NewEnv] and [OpenDir], and put them in order with [NewChain];
// each is a sallyport.SecretSource. The sources promise that no error of
// theirs contains a value, that a value shorter than eight bytes is refused,
// and that a reference never leads out of a directory. They do not decide who
// may read what: that is the accessor's work.
//
// The register of promises is docs/guarantees.md: G-SECRET.
package secrets

import (
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// Checker is a source that can tell before the first call whether the
// references that tools declare can be served.
type Checker interface {
	// Check takes references and "prefix/*" patterns and returns every fault
	// at once, for the operator. It looks at names only: a reference that the
	// source does not have is no fault.
	Check(refs []string) error
}

// tooShort refuses a value. It is the one failure of a source whose text may
// reach the caller: it names the reference and the minimum.
func tooShort(ref string) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: ref, Operation: "get",
		Detail: fmt.Sprintf("secret %s is refused: its value has fewer than %d bytes", ref, reach.MinSecretBytes),
	}
}
