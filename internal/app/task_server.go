package app

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/subagent"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

// serverRunner is a runner of tasks that is a tool of an MCP server.
type serverRunner struct {
	part *config.Part
	// server and tool are names, the tool's by the server's own.
	server, tool string
	// arguments is what the tool gets.
	arguments *subagent.Template
	// said is what the configuration says beside that: the title, bounds, permissions.
	said *action.Definition
}

// serverArguments is what the tool of a server gets unless the configuration says so.
const serverArguments = `{"prompt": "{prompt}", "credential": "{credential}"}`

// serverRunnerKeys lists the keys that such a runner may have.
var serverRunnerKeys = []string{"mcp", "name", "description", "permissions", "rateLimit", "rate_limit", "timeout", "maxResultChars", "max_result_chars"}

// isServerRunner reports whether the runner of a configuration is a tool of a server.
func isServerRunner(p *config.Part) bool {
	var keys map[string]json.RawMessage
	return p != nil && json.Unmarshal(p.JSON, &keys) == nil && keys["mcp"] != nil
}

// readServerRunner reads the runner of a configuration that is a tool of a server; nil when
// it has none. The error is yamldoc.Faults, each with its position.
func readServerRunner(c *config.Config) (*serverRunner, error) {
	p := c.Task.Runner
	if !isServerRunner(p) {
		return nil, nil
	}
	tree, err := schema.Decode(p.JSON, &schema.Limits{Bytes: definition.MaxBytes})
	if err != nil {
		return nil, yamldoc.Faults{p.Fault("", err.Error())}
	}
	var d definition.Decoder
	keys, _ := tree.(map[string]any)
	r := &serverRunner{part: p}
	r.readTool(&d, keys["mcp"])
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(serverRunnerKeys, key) {
			d.Fault(definition.Below("", key), "a runner that is a tool of a server has none: expected name, description, permissions, rateLimit, timeout or maxResultChars beside mcp")
			delete(keys, key)
		}
	}
	delete(keys, "mcp")
	keys["id"], keys["parameters"] = subagent.Name, json.RawMessage(subagent.RunnerParameters)
	said, err := json.Marshal(keys)
	if err == nil {
		r.said, err = action.Decode(said, &action.DecodeOptions{Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.Result{}, nil // the server's own tool runs
		}})
	}
	var faults yamldoc.Faults
	for _, f := range d.Faults {
		faults = append(faults, p.Fault(f.Pointer, f.Message))
	}
	if err != nil {
		faults = append(faults, faultsIn(p, err)...)
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return r, nil
}

// readTool reads which tool of which server runs, and what it gets.
func (r *serverRunner) readTool(d *definition.Decoder, v any) {
	top := d.Object("/mcp", v)
	if top == nil {
		return
	}
	defer top.Done()
	r.server, r.tool = top.Text("server", "", true), top.Text("tool", "", true)
	text := json.RawMessage(serverArguments)
	given, at, ok := top.Take("arguments", "")
	if ok {
		text = d.Raw(at, given)
	}
	var err error
	switch r.arguments, err = subagent.ParseTemplate(text); {
	case err != nil:
		d.Fault("/mcp/arguments", "%v", err)
	case !r.arguments.Has("prompt"):
		d.Fault("/mcp/arguments", "{prompt} stands nowhere, so that the sub-agent would not know what to do")
	}
}

// addServerRunner adds the tool task to those of a deployment whose runner is a tool of a
// server. It touches what the server's own tools touch, through the same connections.
func (rt *Runtime) addServerRunner(t *Deployment) error {
	r := t.runner
	if r == nil {
		return nil
	}
	if why := t.describeNoServer(r.server); why != "" {
		return yamldoc.Faults{r.part.Fault("/mcp/server", why)}
	}
	runner, err := r.said.Tool()
	if err != nil {
		return yamldoc.Faults(faultsIn(r.part, err))
	}
	served, ok := sallyport.Tool{}, false
	if t.Servers.Mounts != nil {
		served, ok = t.Servers.Mounts.RunnerTool(r.server, r.tool)
	}
	if !ok {
		served.IsAvailable = func() bool { return false }
		served.WhyNot = func() string { return "the MCP server " + r.server + " is not there" }
	}
	runner.Sources = sourcesOf(r.part)
	runner.Capabilities, runner.Touches, runner.Does, runner.Destinations = served.Capabilities, served.Touches, served.Does, served.Destinations
	runner.IsAvailable, runner.WhyNot, runner.Revision = served.IsAvailable, served.WhyNot, served.Revision
	runner.Permissions = append(runner.Permissions, served.Permissions...)
	if runner.RateLimit == nil {
		runner.RateLimit = served.RateLimit
	}
	if runner.Timeout == 0 {
		runner.Timeout = served.Timeout
	}
	runner.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		own := *c
		var err error
		if own.Args, err = r.arguments.Fill(c.Args); err != nil {
			return sallyport.Result{}, err
		}
		return served.Run(ctx, &own)
	}
	t.Tools = append(t.Tools, subagent.Tool(runner, rt.taskOptions(t.Config, true)))
	return nil
}

// serversOf lists the servers that a role may use: those that it lists, and the one of
// which a tool does the tasks that it may hand out. It sees no other tool of that one.
func (t *Deployment) serversOf(p *sallyport.Personality) []string {
	offers := func(name string) bool { return slices.Contains(p.Toolset, name) }
	if t.runner == nil || p.Toolset != nil && !offers(subagent.Name) && !offers("@"+subagent.Name) || slices.Contains(p.MCPServers, t.runner.server) {
		return p.MCPServers
	}
	return append(slices.Clip(p.MCPServers), t.runner.server)
}

// explainRunner says what holds back the tool of a server that does the tasks; the zero
// value when nothing does.
func (t *Deployment) explainRunner() registry.MissingTool {
	if t.runner == nil || t.Servers.Mounts == nil {
		return registry.MissingTool{}
	}
	return t.explainHeld(t.runner.server, lock.KindTool, func(l *upstream.Left) bool { return l.Tool == t.runner.tool })
}
