package command

import (
	"io"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
)

// processEnvironment is what the gate knows of its process, so that tests can
// replace it.
type processEnvironment struct {
	// stderr receives warnings and news for the operator.
	stderr io.Writer
	// lookup finds one variable of the environment, and pairs lists all of them
	// as NAME=value.
	lookup func(name string) (string, bool)
	pairs  func() []string
	// dir is the working folder, home the folder of the user.
	dir, home string
	// network says how hosts are reached, packages where packages come from;
	// nil means the defaults.
	network  *sallyport.NetworkBackend
	packages *install.Options
}
