//go:build !linux

package sandbox

import "context"

// Observe runs a program and reports what it used. Programs are observed on
// Linux only: elsewhere the error is not_available.
func Observe(context.Context, []string, *ObserveOptions) (*Observation, error) {
	return nil, unavailableError("programs are observed on Linux only", nil)
}
