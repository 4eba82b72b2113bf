package scoped

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/output"
)

// secretAccessor is the secrets accessor of a call. It remembers what it handed out:
// the gate removes these values from the result even when a source no longer
// lists them.
type secretAccessor struct {
	b *Binding

	mu   sync.Mutex
	held []heldSecret
}

type heldSecret struct {
	ref   string
	value sallyport.Secret
}

// Get returns the value of a granted reference. Within a call a reference is
// asked of the source once.
func (s *secretAccessor) Get(ctx context.Context, ref string) (sallyport.Secret, error) {
	if err := s.b.checkLive(); err != nil {
		return sallyport.Secret{}, err
	}
	if err := s.Probe("", ref); err != nil {
		return sallyport.Secret{}, err
	}
	if value, ok := s.findRevealed(ref); ok {
		return value, nil
	}
	value, ok, err := s.b.scope.backends.Secrets.Secret(ctx, ref)
	switch {
	case err != nil:
		return sallyport.Secret{}, s.failSource(ctx, ref, err)
	case !ok:
		s.recordUnavailable(ref, "no source has a value for it", fixSet+clipNoted(ref))
		return sallyport.Secret{}, newSecretError(ref, "not found", fs.ErrNotExist)
	}
	if err := checkHandedOut(value); err != nil {
		s.recordUnavailable(ref, err.Error(), fixSet+clipNoted(ref))
		return sallyport.Secret{}, newSecretError(ref, "is refused: "+err.Error(), err)
	}
	// The value is on the list before the tool has it.
	if s.storeRevealed(ref, value) {
		s.b.recordAllowed(group.Secrets, ref, "get "+ref)
	}
	return value, nil
}

// Probe checks a reference against the grant.
func (s *secretAccessor) Probe(_, ref string) error {
	if !reach.MatchRef(s.b.scope.grant.Secrets, ref) {
		s.b.recordRefusal(group.Secrets, ref, matchesItem(reach.MatchRef, ref))
		return sallyport.SecretError(ref)
	}
	return nil
}

// The commands that tell of a secret, in the fixes of decisions.
const (
	fixSet   = "sallyport secrets set "
	fixCheck = "sallyport check"
)

// checkHandedOut refuses a value that is not handed out: what could not be removed
// from a result.
func checkHandedOut(value sallyport.Secret) error {
	if len(value.Reveal()) < reach.MinSecretBytes {
		return fmt.Errorf("its value has fewer than %d bytes", reach.MinSecretBytes)
	}
	return output.CheckSecret(value)
}

// failSource returns what a tool learns of a source that fails: the source's own
// coded words, or that the reference could not be read.
func (s *secretAccessor) failSource(ctx context.Context, ref string, err error) error {
	told, _ := errors.AsType[*sallyport.Error](hideBackendError(err, "secret "+ref+" could not be read"))
	coded, ok := errors.AsType[*sallyport.Error](err)
	switch {
	case ctx.Err() != nil: // the call is over, which says nothing of the source
	case ok && coded.Resource == ref:
		s.recordUnavailable(ref, clipNoted(coded.Detail), fixSet+clipNoted(ref))
	default:
		s.recordUnavailable(ref, "the source of its value failed, and check says why", fixCheck)
	}
	failure := *told
	failure.Err = &reach.SecretFailure{Cause: err}
	return &failure
}

// recordUnavailable tells the operator why a granted reference has no value, and what
// changes that.
func (s *secretAccessor) recordUnavailable(ref, why, fix string) {
	s.b.recordDecision(sallyport.Decision{
		Step: sallyport.StepAccess, Capability: group.Secrets, Resource: clipNoted(ref), Why: why, Fix: fix,
	})
}

func newSecretError(ref, what string, cause error) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: ref, Operation: "get",
		Detail: "secret " + ref + " " + what, Err: &reach.SecretFailure{Cause: cause},
	}
}

func (s *secretAccessor) findRevealed(ref string) (sallyport.Secret, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		if h.ref == ref {
			return h.value, true
		}
	}
	return sallyport.Secret{}, false
}

// storeRevealed stores a value that the call receives and reports whether the
// reference is new. Two goroutines that asked at once may hold two values of a
// secret that rotates, and both stay listed.
func (s *secretAccessor) storeRevealed(ref string, value sallyport.Secret) (fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh = true
	for _, h := range s.held {
		if h.ref == ref {
			fresh = false
			if h.value == value {
				return false
			}
		}
	}
	s.held = append(s.held, heldSecret{ref, value})
	return fresh
}

func (s *secretAccessor) listRevealed() []sallyport.Secret {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return nil
	}
	values := make([]sallyport.Secret, len(s.held))
	for i, h := range s.held {
		values[i] = h.value
	}
	return values
}

type refusedSecrets struct{ note func(sallyport.Decision) }

func (s refusedSecrets) Get(_ context.Context, ref string) (sallyport.Secret, error) {
	return sallyport.Secret{}, s.Probe("", ref)
}

func (s refusedSecrets) Probe(_, ref string) error {
	sendDecision(s.note, newRefusal(group.Secrets, ref))
	return sallyport.SecretError(ref)
}
