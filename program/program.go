// Package program is Sallyport as a function: a Go program that calls [Main]
// with tools of its own is the whole product with these tools beside the
// built-in ones.
//
// It has the command line, the configuration in YAML, the MCP server and the
// HTTP surface, approvals, the record, check, explain and confined children.
// The command of cmd/sallyport is Main without tools. To use the gate as a
// library, without any of this, start with package registry.
//
// It promises for own tools what holds for built-in ones: see G-TOOL, G-DECIDE,
// G-GRANT and G-AUDIT in docs/guarantees.md. A tool is Go code in the process of
// the gate; the kernel does not confine it.
package program

import (
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/command"
)

// Main runs the command that the arguments of the process name, with the given
// tools beside the built-in ones, and ends the process with the command's exit
// code. It does not return. Call it once, from main, before anything else.
//
// A personality offers an own tool by its name or label, like a built-in one.
// Main ends the process with exit code 2 and a message on standard error,
// before any command runs, when a tool has no Run, when its declaration is
// invalid, or when its name is that of another tool, a built-in one included.
//
// The program starts itself again to confine the children of tools. These
// starts end in the initialisation of a package that Main imports, before main
// and before the initialisation of the program's own package.
func Main(tools ...sallyport.Tool) { command.Main(tools...) }
