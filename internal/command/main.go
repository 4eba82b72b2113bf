// Package command holds the commands of the program sallyport: the command
// line, the MCP server and the HTTP surface of the gate.
package command

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the command that the arguments of the process name, and ends the
// process with the command's exit code.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once: the user insists.
	context.AfterFunc(ctx, stop)
	code := runCommand(ctx, os.Args[1:], systemEnvironment())
	stop()
	os.Exit(code)
}
