// Command sallyport decides, confines and records the tool calls of agents:
// one binary that is the command line, the MCP server and the HTTP surface of
// the gate.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once: the user insists.
	context.AfterFunc(ctx, stop)
	code := runCommand(ctx, os.Args[1:], systemEnvironment())
	stop()
	os.Exit(code)
}
