package secrets

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sallyport/sallyport"
)

// Chain asks sources in order; the first that has a reference wins. It is safe
// for concurrent use when the sources are.
type Chain struct {
	sources []sallyport.SecretSource

	mu    sync.Mutex
	parts [][]sallyport.Secret
	known []sallyport.Secret
}

// NewChain returns a chain of the sources. An empty chain has no secrets.
func NewChain(sources ...sallyport.SecretSource) *Chain {
	return &Chain{sources: slices.Clone(sources)}
}

// Secret returns the value of the first source that has the reference. A
// source that fails ends the search: the value of a later source might be a
// stale or planted one that the earlier source was put there to replace.
func (c *Chain) Secret(ctx context.Context, ref string) (sallyport.Secret, bool, error) {
	for _, source := range c.sources {
		s, ok, err := source.Secret(ctx, ref)
		if err != nil || ok {
			return s, ok && err == nil, err
		}
	}
	return sallyport.Secret{}, false, nil
}

// Known returns the values of all sources, those too that an earlier source
// hides. The same slice is returned as long as the sources return theirs; it
// must not be changed.
func (c *Chain) Known(ctx context.Context) ([]sallyport.Secret, error) {
	if len(c.sources) == 1 {
		return c.sources[0].Known(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts == nil {
		c.parts = make([][]sallyport.Secret, len(c.sources))
	}
	changed := false
	for i, source := range c.sources {
		part, err := source.Known(ctx)
		if err != nil {
			return nil, err
		}
		if !sameSlice(c.parts[i], part) {
			c.parts[i], changed = part, true
		}
	}
	if changed {
		c.known = slices.Concat(c.parts...)
	}
	return c.known, nil
}

// Check asks every source that is a [Checker].
func (c *Chain) Check(refs []string) error {
	var faults []error
	for _, source := range c.sources {
		if checker, ok := source.(Checker); ok {
			faults = append(faults, checker.Check(refs))
		}
	}
	return errors.Join(faults...)
}

// sameSlice reports whether both are the same memory, not the same content: a
// source that changes its slice in place would break its promise.
func sameSlice(a, b []sallyport.Secret) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
