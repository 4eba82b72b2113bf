package config

import (
	"errors"
	"strconv"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// taskCalls is how many calls a task may make unless the configuration says so.
	taskCalls = 50
	// maxTaskCalls bounds what it may say, maxTaskCost in US dollars.
	maxTaskCalls = 10_000
	maxTaskCost  = 10_000
)

// Task is what the built-in task hands work to, and what that may use.
type Task struct {
	// Runner is an action without id and parameters; or what names a tool of an MCP server; nil
	// when there is none.
	Runner *Part
	// Calls is how many calls one task may make.
	Calls int
	// CostUSD is what the calls of one task may cost, in US dollars; 0 sets no bound.
	CostUSD float64
}

func taskKeys() []row {
	return []row{
		{
			KeyDoc: KeyDoc{"task", TypeMapping, false, true, "no `task`", "What the built-in `task` hands work to; see [tasks](../guides/tasks.md).", "{runner: {handler: ./agent.mjs}}"},
			set:    func(s *scope, _ value) { s.cfg.Task.Calls = taskCalls },
		},
		{KeyDoc: KeyDoc{"task.runner", TypeRunner, true, true, "", "The sub-agent: an [action](../guides/actions.md) without `id` and `parameters`, or a tool of an MCP server under `mcp`. `timeout` bounds a task, 10 minutes unless it is there.", "{handler: ./agent.mjs}"}, hide: true},
		{
			KeyDoc: KeyDoc{"task.calls", TypeNumber, false, true, strconv.Itoa(taskCalls), "Calls of tools that one task may make, with those of tasks within it, 0 to 10000.", "50"},
			check:  countCheck(0, maxTaskCalls), set: func(s *scope, v value) { s.cfg.Task.Calls = int(storedNumber(v.text)) },
		},
		{
			KeyDoc: KeyDoc{"task.cost_usd", TypeDecimal, false, true, "no bound", "What these calls may cost together, in US dollars; the call that exceeds it is the last one.", "0.5"},
			check:  (*scope).parsePrice, set: func(s *scope, v value) { s.cfg.Task.CostUSD, _ = strconv.ParseFloat(v.text, 64) },
		},
	}
}

// readRunner reads the runner of tasks. One that is at fault is left out.
func (s scope) readRunner(key string, n *yamldoc.Value) {
	if p, ok := s.readPart("runner", key, n, shownOfActions); ok {
		s.cfg.Task.Runner = &p
	}
}

// parsePrice reads an amount of US dollars.
func (s *scope) parsePrice(v string) (string, error) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f > 0 && f <= maxTaskCost) {
		return "", errors.New("expected a price of more than 0 and at most 10000")
	}
	return v, nil
}
