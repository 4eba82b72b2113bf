package command

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
	// Lookup finds one variable of the environment, and pairs lists all of them
	// as NAME=value.
	Lookup func(name string) (string, bool)
	Pairs  func() []string
	// Dir is the working folder, home the folder of the user.
	Dir, Home string
	// Network says how hosts are reached, packages where packages come from;
	// nil means the defaults.
	Network  *sallyport.NetworkBackend
	Packages *install.Options
}
