// Command filetools is the built-in file tools, compiled as a plugin.
package main

import (
	"github.com/sallyport/sallyport/plugin/guest"
	"github.com/sallyport/sallyport/tools/file"
)

func init() { guest.Serve(file.Tools()...) }

func main() {}
