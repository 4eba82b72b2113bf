package clients

import (
	"github.com/sallyport/sallyport/internal/jsonc"
)

// readCodexMember reads a member that Codex alone has, and reports whether it is
// one.
func (s *Server) readCodexMember(name string, v *jsonc.Value) bool {
	switch name {
	case "env_vars":
		s.readNames(name, v)
	case "http_headers":
		s.readPairs(name, v, &s.Headers)
	case "env_http_headers":
		var list []Pair
		s.readPairs(name, v, &list)
		for _, p := range list {
			s.Headers = append(s.Headers, Pair{Name: p.Name, Variable: p.Value})
		}
	case "bearer_token_env_var":
		var variable string
		if s.readText(name, v, &variable); variable != "" {
			s.Headers = append(s.Headers, Pair{Name: "Authorization", Value: "Bearer ", Variable: variable})
		}
	default:
		return false
	}
	return true
}

// readNames reads the variables of its own environment that the client hands on:
// names, or tables with a name.
func (s *Server) readNames(name string, v *jsonc.Value) {
	if v.Kind != jsonc.Array {
		s.addFault("%s: expected a list, found %s", name, v.Kind)
		return
	}
	for _, item := range v.Items {
		if item.Kind == jsonc.Object && item.Get("name") != nil {
			item = item.Get("name")
		}
		if item.Kind != jsonc.String {
			s.addFault("%s: expected a list of names, found %s in it", name, item.Kind)
			return
		}
		s.Env = append(s.Env, Pair{Name: item.Text, Variable: item.Text})
	}
}

// readZedMember reads a member that Zed alone has, and reports whether it is one:
// earlier versions wrote the command as an object.
func (s *Server) readZedMember(name string, v *jsonc.Value) bool {
	switch {
	case name == "source":
		s.Extension = s.Extension || v.Text == "extension"
	case name == "settings":
		s.Extension = true
	case name == "command" && v.Kind == jsonc.Object:
		for _, m := range v.Members {
			if m.Name == "path" {
				s.readText("command.path", m.Value, &s.Command)
				continue
			}
			s.readMember(m.Name, m.Value)
		}
	default:
		return false
	}
	return true
}
