package output

import "slices"

// Holds reports whether bytes that are no text contain a known secret, in the
// forms in which [Cleaner.Text] finds one. What is compressed or drawn is not
// seen.
func (c *Cleaner) Holds(data []byte) bool {
	if len(c.values) == 0 || len(data) == 0 {
		return false
	}
	return slices.ContainsFunc(c.sweep(string(data)), func(x span) bool { return x.mark == markSecret })
}
