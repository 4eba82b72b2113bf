package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/internal/delegation"
	"github.com/sallyport/sallyport/internal/subagent"
	"github.com/sallyport/sallyport/registry"
)

// BenchmarkTask compares a task with an action that runs the same program: what is between
// the two is the delegation, its channel and its end. They take turns.
func BenchmarkTask(b *testing.B) {
	dir := configured(b, `version: 2
state: sqlite:.sallyport/state.db
personalities:
  worker: {toolset: [task, plain]}
principals:
  ann: {token_sha256: `+auth.HashToken(tokenOf("ann"))+`}
actions:
  - {id: plain, parameters: {prompt: {type: string}}, handler: {exec: {command: [printf, "1"]}}}
task: {runner: {handler: {exec: {command: [printf, "1"]}}}}
`)
	s := serveHTTP(b, dir)
	defer s.stop(b)
	tools := []string{"plain", "task"}
	var took [2][]time.Duration
	for range b.N {
		for i, tool := range tools {
			began := time.Now()
			if a := s.action(b, "ann", tool, `{"prompt":"p"}`); !a.Success {
				b.Fatalf("%s: %+v", tool, a)
			}
			took[i] = append(took[i], time.Since(began))
		}
		slices.Reverse(tools)
		took[0], took[1] = took[1], took[0]
	}
	if b.N%2 == 1 {
		took[0], took[1] = took[1], took[0]
	}
	var median [2]float64
	for i, list := range took {
		slices.Sort(list)
		median[i] = float64(list[len(list)/2].Microseconds()) / 1000
	}
	b.ReportMetric(median[0], "action-ms")
	b.ReportMetric(median[1], "task-ms")
	b.ReportMetric(median[1]-median[0], "beside-ms")
}

// BenchmarkTaskStart is what a task costs beside its runner: the delegation, the server of
// its channel, the first exchange there and the list of tools, and the end of it all. The
// runner is a function in the process.
func BenchmarkTaskStart(b *testing.B) {
	book := delegation.NewBook()
	r, err := registry.New(nil, &registry.Options{Delegations: book})
	if err != nil {
		b.Fatal(err)
	}
	runner := sallyport.Tool{Name: "task", Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		_, err := c.Process.Spawn(ctx, "agent", nil, &sallyport.SpawnOptions{Stdin: c.Args})
		return sallyport.OK("done"), err
	}}
	tool := subagent.Tool(runner, subagent.Options{Book: book, Calls: 50, Serve: func(ctx context.Context, d *delegation.Delegation, end io.ReadWriteCloser) {
		s, err := gateway.New(r, &gateway.Options{Principal: func() sallyport.Principal { return d.Principal }})
		if err == nil {
			err = s.Stdio(ctx, end, end)
		}
		if err != nil {
			b.Error(err)
		}
	}})
	for i := range b.N {
		c := &sallyport.Call{
			ID: strconv.Itoa(i), Principal: sallyport.Principal{Name: "ann"}, Session: "s", Args: json.RawMessage(`{"prompt":"p"}`), Process: firstExchange{},
		}
		if res, err := tool.Run(b.Context(), c); err != nil || !res.OK {
			b.Fatal(res, err)
		}
	}
}

// firstExchange is a process accessor whose program opens its session and lists the tools.
type firstExchange struct{ sallyport.Process }

func (firstExchange) Spawn(_ context.Context, _ string, _ []string, o *sallyport.SpawnOptions) (sallyport.ProcessResult, error) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	go o.Channel(ours)
	lines := bufio.NewReader(theirs)
	for _, m := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
	} {
		if _, err := io.WriteString(theirs, m+"\n"); err != nil {
			return sallyport.ProcessResult{}, err
		}
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"result"`) {
			return sallyport.ProcessResult{}, fmt.Errorf("%s: %w", line, err)
		}
	}
	return sallyport.ProcessResult{}, nil
}
