// Command plugin-go is the built-in file tools as a plugin. Build it with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags='-s -w' -o files.wasm .
package main

import (
	"github.com/sallyport/sallyport/plugin/guest"
	"github.com/sallyport/sallyport/tools/file"
)

func init() { guest.Serve(file.Tools()...) }

func main() {}
