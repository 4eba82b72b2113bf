//go:build !unix

package listening

// descriptorLimit returns how many descriptors this process may open, 0 if
// unknown.
func descriptorLimit() uint64 { return 0 }
