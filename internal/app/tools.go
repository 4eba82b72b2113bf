package app

import (
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/file"
	"github.com/sallyport/sallyport/tools/httpreq"
	"github.com/sallyport/sallyport/tools/mail"
	"github.com/sallyport/sallyport/tools/memory"
	"github.com/sallyport/sallyport/tools/skill"
	"github.com/sallyport/sallyport/tools/terminal"
	"github.com/sallyport/sallyport/tools/todo"
	"github.com/sallyport/sallyport/tools/web"
	"github.com/sallyport/sallyport/tools/websearch"
)

// DefaultRelay is the relay of a declaration that names none.
const DefaultRelay = "default"

// toolsOf returns the built-in tools, those of the program and those that a configuration
// declares. Tools that need a database or a relay are included when the
// configuration names one.
func (rt *Runtime) toolsOf(c *config.Config) (tools []sallyport.Tool, warnings []string, err error) {
	connected, err := ConnectionTools(c)
	if err != nil {
		return nil, nil, err
	}
	declared, warnings, err := actionsOf(c, rt.Env.Home)
	if err != nil {
		return nil, nil, err
	}
	if c.Task.Runner != nil && !isServerRunner(c.Task.Runner) {
		t, warning, err := rt.taskTool(c)
		if err != nil {
			return nil, nil, err
		}
		if warning != "" {
			warnings = append(warnings, warning)
		}
		connected = append(connected, t)
	}
	return slices.Concat(BuiltinTools(rt.commands, rt.pages), connected, rt.Env.Tools, declared), warnings, nil
}

// BuiltinTools returns the tools that need no configuration, with those that use web pages.
func BuiltinTools(commands *terminal.Family, pages []sallyport.Tool) []sallyport.Tool {
	return slices.Concat(file.Tools(), web.Tools(), httpreq.Tools(), commands.Tools(), todo.Tools(), memory.Tools(), pages)
}

// ConnectionTools returns the built-in tools for what a configuration names: databases,
// relays, a search service, and the folder of skills. The tool that
// writes to a database is offered where the configuration allows it. Mail goes
// to the sender's own domain unless the configuration names other recipients.
func ConnectionTools(c *config.Config) (tools []sallyport.Tool, err error) {
	if len(c.Databases) > 0 {
		tools = append(tools, database.Tool(slices.Sorted(maps.Keys(c.Databases)), sallyport.ModeRead))
	}
	if names := writableConnections(c.Databases); len(names) > 0 {
		tools = append(tools, database.Tool(names, sallyport.ModeWrite))
	}
	if r, ok := c.Mail[DefaultRelay]; ok {
		to := r.To
		if to == nil {
			to = []string{"*@" + domainOf(r.From)}
		}
		tools = append(tools, mail.Tool(sallyport.MailCapability{Relay: DefaultRelay, To: to}))
	}
	if s := &c.Search; s.Service != "" {
		search, err := websearch.Tool(s.Service, s.URL, s.KeySecret)
		if err != nil {
			return nil, err
		}
		tools = append(tools, search)
	}
	if c.Skills != "" {
		tools = append(tools, skill.Tool(skillFolder(c.Skills)))
	}
	return tools, nil
}

// writableConnections lists the connections that are offered for writing.
func writableConnections(all map[string]config.Database) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].Write {
			names = append(names, name)
		}
	}
	return names
}

// domainOf returns the domain of an address, with or without a display name.
func domainOf(from string) string {
	return strings.TrimSuffix(from[strings.LastIndexByte(from, '@')+1:], ">")
}

// actionsOf creates tools from the actions that a configuration declares. The
// error is yamldoc.Faults, each with its position.
func actionsOf(c *config.Config, home string) (tools []sallyport.Tool, warnings []string, err error) {
	var faults yamldoc.Faults
	for _, a := range c.Actions {
		def, err := action.Decode(a.JSON, &action.DecodeOptions{Dir: a.Dir, Workspace: c.Workspace, Home: home})
		if err == nil {
			var t sallyport.Tool
			t, err = def.Tool()
			t.Sources = sourcesOf(&a)
			tools = append(tools, t)
			faults = append(faults, checkDatabases(&a, def.Capabilities.Database, c.Databases)...)
			if path := def.Missing(); path != "" {
				warnings = append(warnings, a.Fault("/handler", "there is no file to run: "+path+"; calls fail until it is there and the configuration is loaded again").Error())
			}
		}
		if err != nil {
			faults = append(faults, faultsIn(&a, err)...)
		}
	}
	if len(faults) > 0 {
		return nil, nil, faults
	}
	return tools, warnings, nil
}

// sourcesOf returns the positions of the rules of an action or a server that
// refuse calls.
func sourcesOf(a *config.Part) map[string]string {
	whole := a.Source("")
	sources := map[string]string{"": whole}
	for key, spellings := range map[string][]string{
		"permissions": {"permissions"}, "rateLimit": {"rateLimit", "rate_limit"}, "capabilities": {"capabilities"},
	} {
		for _, spelling := range spellings {
			// A missing key has the position of its parent.
			if at := a.Source("/" + spelling); at != whole {
				sources[key] = at
			}
		}
	}
	return sources
}
