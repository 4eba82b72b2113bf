//go:build !linux

// Package install is empty where there is no seccomp.
package install
