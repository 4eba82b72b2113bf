package memory

import "github.com/sallyport/sallyport"

// Facts returns what is kept of sessions and principals.
func (s *Store) Facts() sallyport.FactStore { return s.facts }
