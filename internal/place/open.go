package place

import (
	"errors"
)

// ErrLink says that a path passes a symbolic link.
var ErrLink = errors.New("a symbolic link in a granted path")
