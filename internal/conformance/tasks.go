package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sallyport/sallyport"
)

// newTaskTools returns the tools that become tasks, and one that does not.
func newTaskTools() []sallyport.Tool {
	both := `{"name":{"type":"string"},"confirm":{"type":"boolean"}}`
	confirm := newFormQuestion("confirm", "Delete the file?", both)
	parallel := []sallyport.Question{newFormQuestion("first", "The first answer?", both), newFormQuestion("second", "The second answer?", both)}
	anything := json.RawMessage(`{"type":"object"}`)
	return []sallyport.Tool{
		{Name: "greet", Description: "Greets a person.", Schema: newTextSchema("name"), Run: greetCaller},
		{
			Name: "slow_compute", Description: "Takes some seconds.", Schema: anything, Tasks: sallyport.TaskOptional,
			Timeout: 2 * time.Minute, Run: computeForSeconds,
		},
		{
			Name: "failing_job", Description: "Fails after a while.", Schema: anything, Tasks: sallyport.TaskRequired,
			Run: endAfterWhile(func() (sallyport.Result, error) { return sallyport.Err("the job failed", ""), nil }),
		},
		{
			Name: "protocol_error_job", Description: "Panics.", Schema: anything, Tasks: sallyport.TaskOptional,
			Run: endAfterWhile(func() (sallyport.Result, error) { panic("the job is broken") }),
		},
		{
			Name: "confirm_delete", Description: "Asks before it deletes.", Schema: anything, Tasks: sallyport.TaskOptional, Capabilities: everyone,
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				c.Detach()
				return askCaller(ctx, c, confirm)
			},
		},
		{
			Name: "multi_input", Description: "Asks two questions at once.", Schema: anything, Tasks: sallyport.TaskOptional, Capabilities: everyone,
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				c.Detach()
				return askCaller(ctx, c, parallel...)
			},
		},
		{
			Name: "test_tool_with_task", Description: "Asks before it becomes a task.", Schema: anything, Tasks: sallyport.TaskRequired, Capabilities: everyone,
			Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				res, err := askCaller(ctx, c, newFormQuestion("user_name", "What is your name?", `{"name":{"type":"string"}}`, "name"))
				if err != nil {
					return res, err
				}
				return endAfterWhile(func() (sallyport.Result, error) { return res, nil })(ctx, c)
			},
		},
	}
}

func greetCaller(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return sallyport.Result{}, err
	}
	return sallyport.OK("Hello, " + in.Name + "!"), nil
}

// computeForSeconds runs for the seconds that it is told, as a task when there
// are any.
func computeForSeconds(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	var in struct {
		Seconds float64
		Label   string
	}
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return sallyport.Result{}, err
	}
	if in.Seconds > 0 {
		c.Detach()
	}
	err := waitFor(ctx, time.Duration(in.Seconds*float64(time.Second)))
	return sallyport.OK(fmt.Sprintf("%s took %v seconds", in.Label, in.Seconds)), err
}

// jobTime is how long the suite gives a job to become a task.
const jobTime = time.Second

// endAfterWhile returns a tool that ends as told, as a task and after a while.
func endAfterWhile(end func() (sallyport.Result, error)) fixtureFunc {
	return func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		c.Detach()
		if err := waitFor(ctx, jobTime); err != nil {
			return sallyport.Result{}, err
		}
		return end()
	}
}

func waitFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
