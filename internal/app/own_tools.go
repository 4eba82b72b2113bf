package app

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/subagent"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/tools/browser"
	"github.com/sallyport/sallyport/tools/terminal"
)

// CheckOwnTools returns every reason why a program cannot offer tools of its
// own beside the built-in ones: an invalid declaration, or a name that another
// tool has. The built-in tools that need a connection count too, so that a
// change of the configuration cannot take a name away.
func CheckOwnTools(own []sallyport.Tool) (err error) {
	if len(own) == 0 {
		return nil
	}
	// No call is made: the folder only stands for those of a configuration.
	dir := os.TempDir()
	r, err := registry.New(nil, &registry.Options{Workspace: dir, Variables: map[string]string{"home": dir, "self": dir}})
	if err != nil {
		return err
	}
	builtin, err := allBuiltinTools()
	if err != nil {
		return err
	}
	if err := r.Register(builtin...); err != nil {
		return err
	}
	var faults []error
	for i := range own {
		t := &own[i]
		switch {
		case t.Name == "":
			faults = append(faults, fmt.Errorf("tool %d of %d has no name", i+1, len(own)))
		case strings.HasPrefix(t.Name, "mcp__"):
			faults = append(faults, fmt.Errorf("%s: names that begin with mcp__ are for the tools of MCP servers", t.ID()))
		case t.Toolset == "mcp":
			// A rule for @mcp is written for servers, not for the program's own tools.
			faults = append(faults, fmt.Errorf("%s: toolset mcp is the label of the tools of MCP servers", t.ID()))
		default:
			faults = append(faults, r.Register(*t))
		}
	}
	return errors.Join(faults...)
}

// allBuiltinTools returns the built-in tools of every configuration.
func allBuiltinTools() ([]sallyport.Tool, error) {
	pages, _ := browser.New(nil) // It starts none.
	commands, err := terminal.New(nil)
	if err != nil {
		return nil, err
	}
	connected := &config.Config{
		Databases: map[string]config.Database{"any": {Write: true}},
		Mail:      map[string]config.Relay{DefaultRelay: {From: "agent@example.com"}},
		Search:    config.Search{Service: config.SearchBrave, KeySecret: "any"}, Skills: os.TempDir(),
	}
	tools, err := ConnectionTools(connected)
	tools = append(tools, subagent.Tool(sallyport.Tool{}, subagent.Options{}))
	return append(BuiltinTools(commands, pages), tools...), errors.Join(err, commands.Close())
}
