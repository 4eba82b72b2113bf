//go:build !cgo

package cgo

func callC() error { return nil }
