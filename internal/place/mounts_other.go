//go:build !linux

package place

// mounts is not known here: a folder that is mounted under two names counts as
// two.
type mounts struct{}

func readMounts() *mounts { return &mounts{} }

func (*mounts) plain() bool { return true }

func (*mounts) spotOf(string) spot { return spot{} }

func (*mounts) spotsOf(string) []spot { return nil }
