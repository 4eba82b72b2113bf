//go:build cgo

package cgo

// static int one(void) { return 1; }
import "C"

func callC() error {
	_ = C.one()
	return nil
}
