package app

import (
	"io"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
)

// Environment is what the gate knows of its process, so that tests can
// replace it.
type Environment struct {
	// Stderr receives warnings and news for the operator.
	Stderr io.Writer
	// Lookup finds one variable of the environment.
	Lookup func(name string) (string, bool)
	// Pairs lists the variables of the environment as NAME=value.
	Pairs func() []string
	// Dir is the working folder, Home the folder of the user.
	Dir, Home string
	// Tools are the tools of the program beside the built-in ones.
	Tools []sallyport.Tool
	// Network says how hosts are reached; nil means the default.
	Network *sallyport.NetworkBackend
	// Packages says where packages come from; nil means the default.
	Packages *install.Options
	// Intervals are the pauses between two looks at what may have changed.
	Intervals Intervals
}
