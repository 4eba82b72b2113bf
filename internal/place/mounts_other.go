//go:build !linux

package place

// mountList is not known here: a folder that is mounted under two names counts as
// two.
type mountList struct{}

func readMounts() *mountList { return &mountList{} }

func (*mountList) hasSingleNames() bool { return true }

func (*mountList) spotOf(string) fsLocation { return fsLocation{} }

func (*mountList) locationsOf(string) []fsLocation { return nil }
