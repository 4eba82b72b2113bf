package config

import "github.com/sallyport/sallyport/internal/yamldoc"

// pluginsKey is the key of the plugins.
const pluginsKey = "plugins"

// shownOfPlugins lists the keys of a plugin whose values snippets may show.
var shownOfPlugins = []string{"module", "capabilities", "memory", "timeout"}

func pluginKeys() []row {
	return []row{
		{KeyDoc: KeyDoc{pluginsKey, TypeNames, false, true, "none", "WebAssembly modules with tools, by name. The plugins of all files add up.", "{counts: {module: ./counts.wasm}}"}},
		{KeyDoc: KeyDoc{pluginsKey + ".<name>", TypePlugin, false, true, "", "One plugin; a role that lists its name under `plugins` sees its tools. Its keys are in [plugins](../guides/plugins.md).", "{module: ./counts.wasm}"}, hide: true},
	}
}

// readPlugin reads a plugin. One that is at fault is left out.
func (s scope) readPlugin(key string, n *yamldoc.Value) {
	p, ok := s.readPart("plugin", key, n, shownOfPlugins)
	if !ok {
		return
	}
	p.ID, p.name = s.name, s.places[key].at
	s.cfg.Plugins = append(s.cfg.Plugins, p)
}
