package importer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/profiles"
	"github.com/sallyport/sallyport/internal/text"
)

// serverState is the outcome of the import of one server.
type serverState string

const (
	// stateReady: the server is written.
	stateReady serverState = "ready"
	// stateDeclared: the configuration already declares the server.
	stateDeclared serverState = "there"
	// stateLeft: the server stays with the client.
	stateLeft serverState = "left"
	// stateBlocked: the server cannot be carried over as it is.
	stateBlocked serverState = "blocked"
)

// plannedServer is one server with the outcome of its import.
type plannedServer struct {
	// found is the server as the client has it, from what is left to translate.
	found, from clients.Server
	name        string
	state       serverState
	// why holds the reasons why a server is left or blocked.
	why   []string
	entry serverEntry
	// notes describe what differs from the client's declaration.
	notes   []string
	secrets []neededSecret
	// guessedFolder is the folder from which the program probably loads its other
	// files.
	guessedFolder string
	// secretHeaders lists headers whose value came from a variable that looks like a
	// secret.
	secretHeaders []string
	// profile is what is known of the server; nil when it is not known.
	profile *profiles.Profile
	// named lists the hosts of addresses that the client gives to the server.
	named []string
	// paths lists paths that variables name, and what the server does there.
	paths map[string]profiles.Access
	// readOnly lists folders that the client shows to the server read-only.
	readOnly []string
	// usesState is true when the server has a folder of its own.
	usesState bool
	// replaced is true when a remote server takes the place of a program.
	replaced bool
	// observed is true when the server was observed.
	observed bool
	// lacksVersion is true when its package names no exact version.
	lacksVersion bool
	// lacksHosts is true when the hosts for its secrets are all that is missing.
	lacksHosts bool
	// suggested lists hosts that would get its secrets if the user agrees; the client's
	// file does not name them.
	suggested []string
}

// neededSecret is a secret that a server needs.
type neededSecret struct {
	Name string `json:"name"`
	Ref  string `json:"ref"`
	// Put says how the user stores the value, Stored where the import found or stored
	// it. One of them is empty.
	Put    string `json:"put,omitempty"`
	Stored string `json:"stored,omitempty"`
	// value is what the client's file has, empty for a reference to another place.
	value string
}

// locate says where the value is, or what the user has to do with it; remark says more
// of the value then.
func (s *neededSecret) locate(remark string) string {
	if s.Stored != "" {
		return "the value of " + s.Name + " " + s.Stored
	}
	return "the value of " + s.Name + remark + " goes into " + s.Put
}

// addNote adds a remark about what differs from the client's declaration.
func (p *plannedServer) addNote(format string, args ...any) {
	p.notes = append(p.notes, text.PrintableLine(fmt.Sprintf(format, args...)))
}

// blockServer adds a reason why the server cannot be written.
func (p *plannedServer) blockServer(format string, args ...any) {
	p.state = stateBlocked
	p.why = append(p.why, text.PrintableLine(fmt.Sprintf(format, args...)))
}

// hasName reports whether a server has a name, in the configuration or at the
// client.
func (p *plannedServer) hasName(name string) bool { return name == p.name || name == p.from.Name }

// flagValues returns the values that a flag gives for a server.
func (p *plannedServer) flagValues(values map[string][]string) []string {
	if v, ok := values[p.name]; ok {
		return v
	}
	return values[p.from.Name]
}

// describeState returns the state of a server on one line.
func (p *plannedServer) describeState() string {
	return fmt.Sprintf("%s: %s", text.PrintableLine(p.from.Name), strings.Join(p.why, "; "))
}

// serverEntry is the declaration of a server. Its JSON is the input of the reader of
// declarations, with the keys in the order in which people write them.
type serverEntry struct {
	Command      []string                          `json:"command,omitempty"`
	Cwd          string                            `json:"cwd,omitempty"`
	URL          string                            `json:"url,omitempty"`
	Transport    string                            `json:"transport,omitempty"`
	Headers      map[string]any                    `json:"headers,omitempty"`
	Env          map[string]string                 `json:"env,omitempty"`
	SecretEnv    map[string]secretEnv              `json:"secret_env,omitempty"`
	Capabilities sallyport.Capabilities            `json:"capabilities"`
	Effects      map[string]definition.ToolEffects `json:"effects,omitempty"`
}

// secretEnv is an environment variable that holds a stand-in for a secret.
type secretEnv struct {
	Secret string   `json:"secret"`
	Hosts  []string `json:"hosts"`
}

// secretHeader is a header that ends in a secret.
type secretHeader struct {
	Secret string `json:"secret"`
	Prefix string `json:"prefix,omitempty"`
}

// isSameLaunch reports whether two declarations start the same server.
func isSameLaunch(a, b *serverEntry) bool {
	return a.URL == b.URL && a.Transport == b.Transport && a.Cwd == b.Cwd && slices.Equal(a.Command, b.Command) && reflect.DeepEqual(a.Env, b.Env)
}
