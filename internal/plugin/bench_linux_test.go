package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/todo"
)

// BenchmarkCall measures one call of a plugin whose instance is warm, of one without a
// session, which gets an instance of its own, and what two tools take as plugins beside
// the same tools built in: one in Go, one in C.
func BenchmarkCall(b *testing.B) {
	const text = `{"ok":true,"value":"hello"}`
	p := load(b, &module{Call: say(text), Data: text})
	call := func(b *testing.B, c *sallyport.Call) {
		c.Emit = func(sallyport.Progress) {}
		f := p.Run("evil")
		before := processorTime(b)
		for b.Loop() {
			if res, err := f(b.Context(), c); err != nil || !res.OK {
				b.Fatal(res, err)
			}
		}
		b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	}
	b.Run("warm", func(b *testing.B) { call(b, &sallyport.Call{SessionKey: "s", Args: json.RawMessage("{}")}) })
	b.Run("own instance", func(b *testing.B) { call(b, &sallyport.Call{Args: json.RawMessage("{}")}) })
	b.Run("go", func(b *testing.B) {
		list := todo.Tools()[1]
		c := scopedtest.NewCall(b, &scopedtest.Options{Capabilities: list.Capabilities, Args: json.RawMessage("{}")})
		compareCalls(b, c, list.Run, loadGo(b).Run(list.Name))
	})
	b.Run("c", func(b *testing.B) {
		reads := sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}}
		c := scopedtest.NewCall(b, &scopedtest.Options{Capabilities: reads, Files: map[string]string{"notes.txt": "a\nb\nc\n"}})
		compareCalls(b, c, countLines, loadC(b).Run("count_lines"))
	})
}

// countLines is the example in C as a tool that is built in.
func countLines(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	content, err := c.FS.ReadFile("notes.txt")
	res := sallyport.OK("")
	res.Structured = map[string]any{"lines": bytes.Count(content, []byte("\n"))}
	return res, err
}

type runTool = func(context.Context, *sallyport.Call) (sallyport.Result, error)

// compareCalls lets a tool that is built in and the same one as a plugin take turns.
func compareCalls(b *testing.B, c *sallyport.Call, builtIn, asPlugin runTool) {
	const round = 100
	c.SessionKey, c.Checked = "s", true
	ctx, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	if _, err := asPlugin(ctx, c); err != nil { // starts the instance
		b.Fatal(err)
	}
	var spent [2]time.Duration
	for b.Loop() {
		for i, run := range []runTool{builtIn, asPlugin} {
			before := processorTime(b)
			for range round {
				if res, err := run(ctx, c); err != nil || !res.OK {
					b.Fatal(res, err)
				}
			}
			spent[i] += processorTime(b) - before
		}
	}
	in, out := perCall(spent[0], b.N*round), perCall(spent[1], b.N*round)
	b.ReportMetric(in, "built-in-cpu-µs")
	b.ReportMetric(out, "plugin-cpu-µs")
	b.ReportMetric(out-in, "added-cpu-µs")
}

func perCall(spent time.Duration, calls int) float64 {
	return float64(spent.Nanoseconds()) / 1000 / float64(calls)
}

// processorTime returns what this process took of the processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkLoad measures the start of a plugin: its check, its translation, and the
// question what tools it has.
func BenchmarkLoad(b *testing.B) {
	small := (&module{}).Bytes()
	for b.Loop() {
		p, err := plugin.Load(b.Context(), "evil", small, nil)
		if err != nil {
			b.Fatal(err)
		}
		_ = p.Close()
	}
}
