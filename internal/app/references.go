package app

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sallyport/sallyport/internal/secretstore"
	"github.com/sallyport/sallyport/internal/text"
)

// SecretStatus says what is known of one reference. It never holds a value.
type SecretStatus struct {
	// Ref is the reference.
	Ref string `json:"ref"`
	// Source is the source that has it; empty when none has.
	Source string `json:"source,omitempty"`
	// Found is true when the value can be read.
	Found bool `json:"found"`
	// Why says why it cannot, when it is not simply missing.
	Why string `json:"why,omitempty"`
	// NeededBy lists the tools, servers and connections that name it.
	NeededBy []string `json:"needed_by"`
	// Fix is the command that stores it, when it is missing.
	Fix string `json:"fix,omitempty"`
}

// ListSecrets returns every reference that something names or that a source
// lists, sorted, and whether it resolves.
func (rt *Runtime) ListSecrets(ctx context.Context) ([]SecretStatus, error) {
	needed := map[string][]string{}
	for _, u := range rt.secretUses() {
		needed[u.ref] = u.by
	}
	for _, p := range rt.InForce().Secrets {
		lister, ok := p.Source.(secretstore.Lister)
		if !ok {
			continue
		}
		refs, err := lister.Refs(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", p.Name, rt.ExplainSecret(err))
		}
		for _, ref := range refs {
			needed[ref] = append([]string{}, needed[ref]...)
		}
	}
	list := []SecretStatus{}
	for _, ref := range slices.Sorted(maps.Keys(needed)) {
		list = append(list, rt.findSecret(ctx, ref, needed[ref]))
	}
	return list, nil
}

// findSecret asks the sources for a reference as a call would.
func (rt *Runtime) findSecret(ctx context.Context, ref string, by []string) SecretStatus {
	s := SecretStatus{Ref: ref, NeededBy: by}
	for _, p := range rt.InForce().Secrets {
		_, ok, err := p.Source.Secret(ctx, ref)
		if err != nil {
			s.Source, s.Why = p.Name, rt.ExplainSecret(err)
			return s
		}
		if ok {
			s.Source, s.Found = p.Name, true
			return s
		}
	}
	s.Fix = rt.setCommand(ref)
	return s
}

// setCommand returns the command that stores a secret.
func (rt *Runtime) setCommand(ref string) string {
	return rt.ShortCommand("secrets set " + text.ShellWord(ref))
}
