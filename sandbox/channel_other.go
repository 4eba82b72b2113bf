//go:build !linux

package sandbox

import (
	"os"

	"github.com/sallyport/sallyport"
)

// openChannel refuses: this system starts no children that are held to a grant.
func (*childProcess) openChannel(*sallyport.SpawnOptions) (*os.File, error) {
	return nil, unavailableError("a socket as standard input needs Linux", nil)
}
