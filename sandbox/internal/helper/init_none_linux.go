//go:build !amd64 && !arm64

package helper

import "errors"

// openInit fails where there is no list of system calls either.
func openInit() (int, error) { return -1, errors.New("init: there is none for this architecture") }

// spawnProgram is not reached.
func spawnProgram(*Base, *Spec, int) error {
	return errors.New("init: there is none for this architecture")
}
