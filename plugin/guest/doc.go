// Package guest makes a plugin of tools that are written in Go: the same values
// that a program registers as tools of its own.
//
// A plugin is a package main whose init function calls [Serve], built with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o tools.wasm .
//
// The tools then run inside a WebAssembly module of the host, without trust: the
// accessors of their calls ask the host, which holds them to their grant. These
// accessors work: files, the HTTP client, secrets, storage, attachments and progress.
// A tool that declares anything else is refused when the host loads the plugin.
//
// What the host promises of a plugin is in docs/guarantees.md: G-PLUGIN.
package guest
