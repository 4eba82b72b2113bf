package app

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/secretstore"
)

// Environment is what the gate knows of its process, so that tests can
// replace it.
type Environment struct {
	// Program is how a user starts this program, as a shell reads it; empty means
	// sallyport.
	Program string
	// Stderr receives warnings and news for the operator.
	Stderr io.Writer
	// Lookup finds one variable of the environment.
	Lookup func(name string) (string, bool)
	// Pairs lists the variables of the environment as NAME=value.
	Pairs func() []string
	// Dir is the working folder, Home the folder of the user.
	Dir, Home string
	// elsewhere says that Dir is the folder of a running server, and not the user's.
	elsewhere bool
	// Tools are the tools of the program beside the built-in ones.
	Tools []sallyport.Tool
	// Network says how hosts are reached; nil means the default.
	Network *sallyport.NetworkBackend
	// Packages says where packages come from; nil means the default.
	Packages *install.Options
	// Ask asks the user at the terminal for a text that is not shown; nil means
	// that there is no terminal.
	Ask func(ctx context.Context, prompt string) (string, error)
	// HintGrant returns the command that lets a tool under a role touch an item of a
	// capability; empty where there is none. nil names no commands.
	HintGrant func(c *config.Config, tool, role, capability, item string) string
	// Keychain returns the items of a service; nil means the system's keychain.
	Keychain func(service string) secretstore.Store
	// Texts holds texts that are read in place of files of the configuration and of
	// the lock file, by absolute name. While it is not nil, what a command pins goes
	// there too, and not into the file.
	Texts map[string][]byte
	// Progress is told how far the installs and starts of servers are; nil means that
	// installs are said on Stderr, a line each.
	Progress Progress
	// Intervals are the pauses between two looks at what may have changed.
	Intervals Intervals
	// StartWait bounds the start of one MCP server; 0 means a minute for a command
	// that pins, and 20 s for any other.
	StartWait time.Duration
	// Repeat is the command line that runs, for the user to run again; empty for
	// serve.
	Repeat string
}

// Progress shows the user how far a command is. It is safe for concurrent use.
type Progress interface {
	// Expect says that so many steps will come.
	Expect(steps int)
	// Begin names what is done now.
	Begin(step string)
	// Done counts a step.
	Done()
}

// plainProgress says what takes long, a line each. It is safe for concurrent use.
type plainProgress struct {
	mu sync.Mutex
	w  io.Writer
}

func (*plainProgress) Expect(int) {}

func (p *plainProgress) Begin(step string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "sallyport: %s\n", step)
}

func (*plainProgress) Done() {}

// progress returns what is told of installs, and of starts when a terminal shows it.
func (env *Environment) progress() Progress {
	if env.Progress != nil {
		return env.Progress
	}
	return &plainProgress{w: env.Stderr}
}
