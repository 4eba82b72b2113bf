package clients

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/jsonc"
)

// Pair is a name with a value, in the order of a file.
type Pair struct {
	// Name and Value are as they stand.
	Name, Value string
	// Variable is a variable of the client's environment whose value follows
	// Value; empty means none.
	Variable string
}

// Server is what a client was told of one server. No text of it has been
// judged.
type Server struct {
	// Name is what the client calls it, At where it stands: file:line:column.
	Name, At string
	// In is the file and the members that lead to it, whichever line that is.
	In string
	// Project is the folder to which it belongs; empty means all.
	Project string
	// Type is stdio, http, sse or whatever else stands there; empty when
	// nothing does.
	Type string
	// Command is the program that is started, empty for a remote server.
	Command string
	// Args are its arguments.
	Args []string
	// Env is added to its environment.
	Env []Pair
	// Cwd is the folder in which it is started, EnvFile a file with more
	// variables.
	Cwd, EnvFile string
	// URL is where a remote server listens.
	URL string
	// Headers are sent with each request to it.
	Headers []Pair
	// Off says that the client does not start it.
	Off bool
	// Extension says that an extension of the client starts it, in a way that the
	// settings do not say.
	Extension bool
	// Unknown lists members that say something else, by name.
	Unknown []string
	// Faults says what in it cannot be understood.
	Faults []string
}

// isOwn reports whether a server is this program.
func (s *Server) isOwn() bool {
	base := strings.TrimSuffix(filepath.Base(strings.ReplaceAll(s.Command, `\`, "/")), ".exe")
	return base == Own && slices.Contains(s.Args, "serve") || s.Name == Own && slices.Contains(s.Args, "--stdio")
}

// quiet lists members that say nothing about what a server does.
var quiet = []string{"description", "name", "version", "gallery", "$schema"}

// readServer reads one member of the servers.
func (f *File) readServer(m jsonc.Member, path []string, project string) Server {
	s := Server{Name: m.Name, At: f.Path + ":" + f.positionText(m.At), In: f.Path + ":" + strings.Join(path, "."), Project: project}
	if m.Value.Kind != jsonc.Object {
		s.addFault("expected an object, found %s", m.Value.Kind)
		return s
	}
	for _, member := range m.Value.Members {
		switch {
		case f.Client.TOML && s.readCodexMember(member.Name, member.Value):
		case f.Client.Custom && s.readZedMember(member.Name, member.Value):
		default:
			s.readMember(member.Name, member.Value)
		}
	}
	if f.Client.Events && s.Type == "" && m.Value.Get("url") != nil {
		s.Type = "sse"
	}
	s.Extension = s.Extension && s.Command == "" && s.URL == ""
	return s
}

func (s *Server) addFault(format string, args ...any) {
	s.Faults = append(s.Faults, fmt.Sprintf(format, args...))
}

// readMember reads one member of a server.
func (s *Server) readMember(name string, v *jsonc.Value) {
	switch name {
	case "type", "transport":
		s.readText(name, v, &s.Type)
	case "command":
		s.readText(name, v, &s.Command)
	case "args":
		s.readList(name, v, &s.Args)
	case "env":
		s.readPairs(name, v, &s.Env)
	case "cwd":
		s.readText(name, v, &s.Cwd)
	case "envFile":
		s.readText(name, v, &s.EnvFile)
	case "url", "serverUrl", "httpUrl":
		s.readText(name, v, &s.URL)
		if name == "httpUrl" {
			s.Type = "http"
		}
	case "headers":
		s.readPairs(name, v, &s.Headers)
	case "disabled":
		s.Off = s.Off || v.Kind == jsonc.Bool && v.Text == "true"
	case "enabled":
		s.Off = s.Off || v.Kind == jsonc.Bool && v.Text == "false"
	default:
		if !slices.Contains(quiet, name) && v.Kind != jsonc.Null {
			s.Unknown = append(s.Unknown, name)
		}
	}
}

func (s *Server) readText(name string, v *jsonc.Value, to *string) {
	switch {
	case v.Kind == jsonc.Null:
	case v.Kind != jsonc.String || strings.Contains(v.Text, "\x00"):
		s.addFault("%s: expected a text, found %s", name, v.Kind)
	default:
		*to = v.Text
	}
}

func (s *Server) readList(name string, v *jsonc.Value, to *[]string) {
	if v.Kind == jsonc.Null {
		return
	}
	if v.Kind != jsonc.Array {
		s.addFault("%s: expected a list, found %s", name, v.Kind)
		return
	}
	for _, item := range v.Items {
		if item.Kind != jsonc.String || strings.Contains(item.Text, "\x00") {
			s.addFault("%s: expected a list of texts, found %s in it", name, item.Kind)
			return
		}
		*to = append(*to, item.Text)
	}
}

// readPairs reads an object of scalars.
func (s *Server) readPairs(name string, v *jsonc.Value, to *[]Pair) {
	if v.Kind == jsonc.Null {
		return
	}
	if v.Kind != jsonc.Object {
		s.addFault("%s: expected an object, found %s", name, v.Kind)
		return
	}
	for _, m := range v.Members {
		switch m.Value.Kind {
		case jsonc.String, jsonc.Number, jsonc.Bool:
			if strings.Contains(m.Value.Text, "\x00") {
				s.addFault("%s.%s: expected a text without a zero byte", name, m.Name)
				return
			}
			*to = append(*to, Pair{Name: m.Name, Value: m.Value.Text})
		case jsonc.Null:
			// The client takes the variable out of the environment, in which it
			// is not here.
		default:
			s.addFault("%s.%s: expected a text, found %s", name, m.Name, m.Value.Kind)
			return
		}
	}
}
