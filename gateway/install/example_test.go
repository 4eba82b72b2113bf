package install_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport/gateway/install"
)

// A launcher's command becomes the command of an installed copy. Until the tool
// of the package was called through a gate, there is none.
func ExampleStore_Open() {
	dir, err := os.MkdirTemp("", "packages")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := install.New(filepath.Join(dir, ".sallyport", "packages"), nil)
	if err != nil {
		log.Fatal(err)
	}
	pkg, _, err := install.Parse([]string{"uvx", "mcp-server-time==2025.9.25"})
	if err != nil {
		log.Fatal(err)
	}
	tool := store.Tool(pkg)
	fmt.Println(tool.Description)
	fmt.Println(tool.Capabilities.Network.AllowedHosts, tool.Capabilities.FSReach)
	_, err = store.Open(pkg, strings.Repeat("0", 64))
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// Installs the package mcp-server-time@2025.9.25 from the registry pypi.
	// [pypi.org files.pythonhosted.org] <nil>
	// true
}
