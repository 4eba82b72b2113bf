//go:build !linux

package gateway

import "io"

// openPolled returns an input as it is: closing it may not end a read.
func openPolled(in io.ReadCloser) io.ReadCloser { return in }
