package plugin_test

import (
	"context"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin"
	"github.com/sallyport/sallyport/internal/plugin/plugintest"
)

type module = plugintest.Module

var (
	leb, code, i32, invoke          = plugintest.Count, plugintest.Code, plugintest.I32, plugintest.Invoke
	vector, name, section, function = plugintest.Vector, plugintest.Name, plugintest.Section, plugintest.Function
	say, forever                    = plugintest.Say, plugintest.Forever
)

const (
	oneTool                         = plugintest.OneTool
	drop, loop, void, branch, end   = plugintest.Drop, plugintest.Loop, plugintest.Void, plugintest.Branch, plugintest.End
	trap, growMem, answer, readMore = plugintest.Trap, plugintest.GrowMemory, plugintest.Answer, plugintest.ReadMore
)

// load loads a module, and closes it with the test.
func load(t testing.TB, m *module) *plugin.Plugin {
	t.Helper()
	p, err := plugin.Load(t.Context(), "evil", m.Bytes(), &plugin.Options{MemoryMiB: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// run calls the tool of a module with a deadline.
func run(t testing.TB, p *plugin.Plugin, c *sallyport.Call, limit time.Duration) (sallyport.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if c.Emit == nil {
		c.Emit = func(sallyport.Progress) {}
	}
	return p.Run("evil")(ctx, c)
}
