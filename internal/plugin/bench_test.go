package plugin_test

import (
	"encoding/json"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/todo"
)

// BenchmarkCall measures one call of a plugin whose instance is warm, of one without a
// session, which gets an instance of its own, and of the same tool built in and in Go.
func BenchmarkCall(b *testing.B) {
	const text = `{"ok":true,"value":"hello"}`
	p := load(b, &module{Call: say(text), Data: text})
	call := func(b *testing.B, c *sallyport.Call) {
		c.Emit = func(sallyport.Progress) {}
		f := p.Run("evil")
		for b.Loop() {
			if res, err := f(b.Context(), c); err != nil || !res.OK {
				b.Fatal(res, err)
			}
		}
	}
	b.Run("warm", func(b *testing.B) { call(b, &sallyport.Call{SessionKey: "s", Args: json.RawMessage("{}")}) })
	b.Run("own instance", func(b *testing.B) { call(b, &sallyport.Call{Args: json.RawMessage("{}")}) })
	list := todo.Tools()[1]
	for name, f := range map[string]func(p *plugin.Plugin) func(*sallyport.Call) (sallyport.Result, error){
		"go built in": func(*plugin.Plugin) func(*sallyport.Call) (sallyport.Result, error) {
			return func(c *sallyport.Call) (sallyport.Result, error) { return list.Run(b.Context(), c) }
		},
		"go plugin": func(p *plugin.Plugin) func(*sallyport.Call) (sallyport.Result, error) {
			run := p.Run(list.Name)
			return func(c *sallyport.Call) (sallyport.Result, error) { return run(b.Context(), c) }
		},
	} {
		b.Run(name, func(b *testing.B) {
			var p *plugin.Plugin
			if name == "go plugin" {
				p = loadGo(b)
			}
			c := scopedtest.NewCall(b, &scopedtest.Options{Capabilities: list.Capabilities, Args: json.RawMessage("{}")})
			c.SessionKey, c.Checked = "s", true
			run := f(p)
			if _, err := run(c); err != nil { // starts the instance
				b.Fatal(err)
			}
			for b.Loop() {
				if res, err := run(c); err != nil || !res.OK {
					b.Fatal(res, err)
				}
			}
		})
	}
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
