package scoped

import (
	"context"
	"fmt"
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
		return sallyport.Secret{}, hideBackendError(err, "secret "+ref+" could not be read")
	case !ok:
		s.b.recordDecision(sallyport.Decision{
			Step: sallyport.StepAccess, Capability: group.Secrets, Resource: clipItem(ref),
			Why: "no source has a value for it", Fix: "sallyport secrets set " + clipItem(ref),
		})
		return sallyport.Secret{}, newSecretError(ref, "not found")
	case len(value.Reveal()) < reach.MinSecretBytes:
		return sallyport.Secret{}, newSecretError(ref,
			fmt.Sprintf("is refused: its value has fewer than %d bytes", reach.MinSecretBytes))
	}
	// What could not be removed from a result is not handed out.
	if err := output.CheckSecret(value); err != nil {
		return sallyport.Secret{}, newSecretError(ref, "is refused: "+err.Error())
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

func newSecretError(ref, what string) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: ref, Operation: "get",
		Detail: "secret " + ref + " " + what,
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
