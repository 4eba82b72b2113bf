package config

import "github.com/sallyport/sallyport/internal/yamldoc"

// serversKey is the key of the upstream servers.
const serversKey = "mcp_servers"

// shownOfServers lists the keys of a server whose values snippets may show. An
// argument of a command may be a secret that was written by mistake.
var shownOfServers = []string{"capabilities", "permissions", "rateLimit", "rate_limit", "timeout", "concurrency", "shared", "cwd", "effects"}

func serverKeys() []row {
	return []row{
		{KeyDoc: KeyDoc{serversKey, TypeNames, false, true, "none", "Upstream MCP servers by name. The servers of all files add up.", "{notes: {command: [python3, ./notes.py]}}"}},
		{KeyDoc: KeyDoc{serversKey + ".<name>", TypeServer, false, true, "", "One server; its tools are `mcp__<name>__<tool>`. Its keys are in [MCP servers](../guides/mcp-servers.md).", "{command: [python3, ./notes.py]}"}, hide: true},
	}
}

// readServer reads an upstream server. One that is at fault is left out.
func (s scope) readServer(key string, n *yamldoc.Value) {
	p, ok := s.readPart("server", key, n, shownOfServers)
	if !ok {
		return
	}
	p.ID, p.name = s.name, s.places[key].at
	s.cfg.Servers = append(s.cfg.Servers, p)
}
