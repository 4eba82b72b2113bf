// Package command holds the commands of the program sallyport: the command
// line, the MCP server and the HTTP surface of the gate.
package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	_ "github.com/sallyport/sallyport/internal/startup" // collects garbage more rarely at first
)

// Main runs the command that the arguments of the process name, with the given
// tools beside the built-in ones, and ends the process with the command's exit
// code.
func Main(tools ...sallyport.Tool) {
	if err := app.CheckOwnTools(tools); err != nil {
		fmt.Fprintf(os.Stderr, "sallyport: this program cannot offer its tools:\n%v\n", err)
		os.Exit(exitUsage)
	}
	env := systemEnvironment()
	env.Tools, env.Program = tools, app.NameProgram(os.Args[0])
	runProcess(env)
}

// MainEvery is Main with other pauses between two looks at what may have
// changed. The program of the tests calls it.
func MainEvery(every app.Intervals) {
	env := systemEnvironment()
	env.Intervals = every
	runProcess(env)
}

// runProcess runs the command of the process and ends it.
func runProcess(env *environment) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once: the user insists.
	context.AfterFunc(ctx, stop)
	code := runCommand(ctx, os.Args[1:], env)
	stop()
	os.Exit(code)
}
