package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
)

// WritePlaces implements sallyport.PlaceLedger.
func (s *Store) WritePlaces(ctx context.Context) ([]sallyport.WritePlace, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, &store.Error{Reason: store.ErrClosed}
	}
	byPath := func(a, b sallyport.WritePlace) int { return cmp.Compare(a.Path, b.Path) }
	return slices.SortedFunc(maps.Values(s.places), byPath), ctx.Err()
}

// KeepWritePlaces implements sallyport.PlaceLedger.
func (s *Store) KeepWritePlaces(ctx context.Context, places []sallyport.WritePlace) error {
	if err := s.lockOpen(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	fresh := map[string]bool{}
	for _, p := range places {
		if _, known := s.places[p.Path]; !known {
			fresh[p.Path] = true
		}
	}
	if len(s.places)+len(fresh) > sallyport.MaxWritePlaces {
		return fmt.Errorf("memory: more than %d write places: forget some", sallyport.MaxWritePlaces)
	}
	for _, p := range places {
		if have, known := s.places[p.Path]; known {
			p.First = have.First
		}
		s.places[p.Path] = p
	}
	return nil
}

// ForgetWritePlace implements sallyport.PlaceLedger.
func (s *Store) ForgetWritePlace(ctx context.Context, path string) (found bool, err error) {
	if err := s.lockOpen(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	_, found = s.places[path]
	delete(s.places, path)
	return found, nil
}
