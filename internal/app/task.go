package app

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/delegation"
	"github.com/sallyport/sallyport/internal/subagent"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// taskTool returns the tool task for the runner of a configuration, which has one. The
// error is yamldoc.Faults, each with its position.
func (rt *Runtime) taskTool(c *config.Config) (t sallyport.Tool, warning string, err error) {
	p := c.Task.Runner
	if faults := foreignKeys(p); len(faults) > 0 {
		return t, "", faults
	}
	def, err := action.Decode(runnerDefinition(p.JSON), &action.DecodeOptions{Dir: p.Dir, Workspace: c.Workspace, Home: rt.Env.Home})
	if err != nil {
		return t, "", yamldoc.Faults(faultsIn(p, err))
	}
	if def.Capabilities.Database != nil {
		return t, "", yamldoc.Faults{p.Fault("/capabilities/database", "a runner cannot use it: its standard input speaks MCP; give its caller db-query")}
	}
	runner, err := def.Tool()
	if err != nil {
		return t, "", err
	}
	runner.Sources = sourcesOf(p)
	if path := def.Missing(); path != "" {
		warning = p.Fault("/handler", "there is no file to run: "+path+"; calls fail until it is there and the configuration is loaded again").Error()
	}
	return subagent.Tool(runner, rt.taskOptions(c, def.Handler.HTTP != nil)), warning, nil
}

// taskOptions returns what a task may use at most. A remote runner calls back with a
// credential.
func (rt *Runtime) taskOptions(c *config.Config, remote bool) subagent.Options {
	return subagent.Options{
		Book: rt.delegations, Serve: rt.serveSubAgent, Check: rt.checkTask, Calls: c.Task.Calls, CostUSD: c.Task.CostUSD, Remote: remote,
	}
}

// foreignKeys refuses the keys of an action that are the tool's own in a runner.
func foreignKeys(p *config.Part) (faults yamldoc.Faults) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(p.JSON, &keys); err != nil {
		return yamldoc.Faults{p.Fault("", err.Error())}
	}
	for _, key := range []string{"id", "parameters"} {
		if _, ok := keys[key]; ok {
			faults = append(faults, p.Fault("/"+key, "a runner has none of its own: they are those of the tool task"))
		}
	}
	return faults
}

// runnerDefinition returns a runner as the action that it is, with what the tool task
// hands over as its parameters.
func runnerDefinition(runner json.RawMessage) json.RawMessage {
	head := `{"id":"` + subagent.Name + `","parameters":` + subagent.RunnerParameters + `,`
	return append([]byte(head), runner[1:]...)
}

// serveSubAgent answers the program of a task, which speaks MCP over its channel. Its
// requests go the way of every other one, as the principal of the task.
func (rt *Runtime) serveSubAgent(ctx context.Context, d *delegation.Delegation, end io.ReadWriteCloser) {
	gate := gateway.Gate(rt.InForce().Registry)
	if l := rt.Live.Load(); l != nil {
		gate = l
	}
	s, err := gateway.New(gate, &gateway.Options{
		Personality: d.Principal.Personalities[0], Version: Version(), Logger: rt.Logger, Files: rt.Shelf, Principal: func() sallyport.Principal { return d.Principal },
	})
	if err == nil {
		err = s.Stdio(ctx, end, end)
	}
	if err != nil && rt.Logger != nil {
		rt.Logger.Warn("the channel of a task", "call", d.ID, "error", err)
	}
}

// checkTask says what is wrong with a task, by the tools in force.
func (rt *Runtime) checkTask(caller *sallyport.Caller, t *sallyport.Task) error {
	return rt.InForce().Registry.CheckTask(caller, t)
}

// SubAgents returns what finds remote sub-agents by their credentials.
func (rt *Runtime) SubAgents() *subAgents { return &subAgents{rt.delegations} }

// subAgents implements auth.Tokens.
type subAgents struct{ book *delegation.Book }

// Principal implements auth.Tokens. A credential is looked up at each use.
func (s *subAgents) Principal(_ context.Context, token string) (p sallyport.Principal, ok bool, err error) {
	d := s.book.Verify(token, time.Now())
	if d == nil {
		return p, false, nil
	}
	return d.Principal, true, nil
}
