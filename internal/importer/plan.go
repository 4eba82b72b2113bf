package importer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

// clientImport turns the servers of one client into declarations.
type clientImport struct {
	env    *Environment
	o      *Options
	client clients.Client
	// config is the configuration in force, to which the servers are added.
	config *config.Config
	hosts  map[string][]string
	pins   map[string][]string
	plains map[string][]string
	// byName maps each name to the server that has it.
	byName map[string]*plannedServer
}

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
	from  clients.Server
	name  string
	state serverState
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
	// observed is true when the server was observed.
	observed bool
	// lacksHosts is true when only the hosts of its secrets are missing.
	lacksHosts bool
}

// neededSecret is a secret that the user has to store.
type neededSecret struct {
	Name string `json:"name"`
	Ref  string `json:"ref"`
	Put  string `json:"put"`
}

// serverPlan is the outcome for all servers of a client.
type serverPlan struct {
	files   []*clients.File
	role    string
	servers []*plannedServer
}

func (p *plannedServer) addNote(format string, args ...any) {
	p.notes = append(p.notes, text.PrintableLine(fmt.Sprintf(format, args...)))
}

func (p *plannedServer) blockServer(format string, args ...any) {
	p.state = stateBlocked
	p.why = append(p.why, text.PrintableLine(fmt.Sprintf(format, args...)))
}

// newClientImport returns the importer for the client that the options name, and
// its files.
func newClientImport(e *Environment, o *Options) (*clientImport, []*clients.File, error) {
	c, files, err := e.readSettings(o.Name)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		e.warnOfCopies(file.Path)
	}
	i := &clientImport{env: e, o: o, client: c, byName: map[string]*plannedServer{}}
	if i.config, err = e.LoadConfig(); err != nil {
		return nil, nil, err
	}
	if i.hosts, err = parsePairs("host", o.Hosts); err != nil {
		return nil, nil, err
	}
	if i.plains, err = parsePairs("plain", o.Plain); err != nil {
		return nil, nil, err
	}
	i.pins, err = parsePairs("pin", o.Pins)
	return i, files, err
}

// parsePairs parses a list of NAME=VALUE.
func parsePairs(flag string, list []string) (map[string][]string, error) {
	values := map[string][]string{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("--%s %s: expected SERVER=%s", flag, s, map[string]string{"host": "HOST", "pin": "VERSION"}[flag])
		}
		values[name] = append(values[name], value)
	}
	return values, nil
}

// planImport reads the files of a client and decides about their servers.
func planImport(ctx context.Context, e *Environment, o *Options) (*clientImport, *serverPlan, error) {
	i, files, err := newClientImport(e, o)
	if err != nil {
		return nil, nil, err
	}
	p, err := i.planServers(ctx, files)
	return i, p, err
}

// planServers decides about every server of the files.
func (i *clientImport) planServers(ctx context.Context, files []*clients.File) (*serverPlan, error) {
	p := &serverPlan{files: files, role: i.o.Personality}
	if p.role == "" {
		p.role = i.client.Name
	}
	for _, f := range files {
		for _, s := range f.Servers() {
			p.servers = append(p.servers, i.planServer(ctx, s))
		}
	}
	return p, i.refuseUnusedFlags(p)
}

// refuseUnusedFlags refuses flags that name no server.
func (i *clientImport) refuseUnusedFlags(p *serverPlan) error {
	named := slices.Clone(i.o.Leave)
	for _, m := range []map[string][]string{i.hosts, i.pins, i.plains} {
		for name := range m {
			named = append(named, name)
		}
	}
	slices.Sort(named)
	for _, name := range named {
		if !slices.ContainsFunc(p.servers, func(s *plannedServer) bool { return s.hasName(name) }) {
			return fmt.Errorf("%s has no server %q", i.client.Name, name)
		}
	}
	return nil
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

// planServer decides about one server.
func (i *clientImport) planServer(ctx context.Context, s clients.Server) *plannedServer {
	p := &plannedServer{from: s, state: stateReady, name: serverName(s.Name)}
	switch {
	case slices.ContainsFunc(i.o.Leave, p.hasName):
		p.state, p.why = stateLeft, []string{"--leave: its calls do not pass the gate"}
		return p
	case s.Off:
		p.state, p.why = stateLeft, []string{"the client has it switched off"}
		return p
	case len(s.Faults) > 0:
		for _, f := range s.Faults {
			p.blockServer("%s", f)
		}
		return p
	}
	i.translateServer(p)
	if other := i.byName[p.name]; other != nil {
		if isSameLaunch(&p.entry, &other.entry) {
			p.state, p.why = stateDeclared, []string{"the same as at " + other.from.At}
			return p
		}
		p.name = numberName(p.name, s.In)
		i.translateServer(p)
	}
	i.byName[p.name] = p
	if i.o.Observe && (p.state == stateReady || p.lacksHosts) {
		i.observeServer(ctx, p)
	}
	p.noteProposal(filepath.Clean(i.env.Home))
	i.checkDeclaration(p)
	return p
}

// translateServer creates the declaration.
func (i *clientImport) translateServer(p *plannedServer) {
	p.entry, p.notes, p.secrets, p.why, p.state, p.lacksHosts = serverEntry{}, nil, nil, nil, stateReady, false
	if p.name != p.from.Name {
		p.addNote("the client calls it %q", p.from.Name)
	}
	i.translateLaunch(p)
	i.translateVariables(p)
	i.translateHeaders(p)
	i.proposeReach(p)
	for _, key := range p.from.Unknown {
		p.addNote("%s is not carried over: there is no such thing here", key)
	}
}

// checkDeclaration checks a declaration with the reader of declarations and against the
// present configuration.
func (i *clientImport) checkDeclaration(p *plannedServer) {
	if p.state != stateReady {
		return
	}
	text, err := json.Marshal(&p.entry)
	if err != nil {
		p.blockServer("%v", err)
		return
	}
	o := &upstream.DecodeOptions{Dir: i.config.Dir, Workspace: i.config.Workspace, Home: i.env.Home}
	now, err := upstream.Decode(p.name, text, o)
	if err != nil {
		p.blockServer("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	if pkg := now.Package; pkg != nil && pkg.Check() != nil {
		p.addNote("%s names no exact version, without which it is not started: --pin %s=VERSION writes one, and sallyport lock names the newest", pkg.Name, p.name)
	}
	for k := range i.config.Servers {
		part := &i.config.Servers[k]
		if part.ID != p.name {
			continue
		}
		was, err := upstream.Decode(part.ID, part.JSON, &upstream.DecodeOptions{Dir: part.Dir, Workspace: i.config.Workspace, Home: i.env.Home})
		if err == nil && was.URL == now.URL && was.Transport == now.Transport && slices.Equal(was.Command, now.Command) && reflect.DeepEqual(was.Env, now.Env) {
			p.state, p.why = stateDeclared, []string{"declared at " + part.Source("") + ", which stays as it is"}
			return
		}
		p.blockServer("the name is another server's at %s: rename one of them, or --leave %s", part.Source(""), p.name)
	}
}

// repeatedSign matches separators that stand twice in a row.
var repeatedSign = regexp.MustCompile(`(_|-)[_-]+`)

// maxServerName is the longest name of a server, in bytes (internal/lock).
const maxServerName = 40

// serverName returns a valid server name. It replaces each character that a
// name cannot hold with a dash.
func serverName(name string) string {
	out := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, name)
	out = repeatedSign.ReplaceAllString(out, "$1")
	out = strings.Trim(out, "_-")
	if len(out) > maxServerName {
		out = numberName(out, name)
	}
	if lock.CheckServer(out) != nil {
		return numberName("server", name)
	}
	return out
}

// numberName makes a name unique with the digest of another text.
func numberName(name, apart string) string {
	sum := sha256.Sum256([]byte(apart))
	end := "-" + hex.EncodeToString(sum[:3])
	return strings.TrimRight(name[:min(len(name), maxServerName-len(end))], "_-") + end
}

// countState returns the number of servers in a state.
func (p *serverPlan) countState(state serverState) (n int) {
	for _, s := range p.servers {
		if s.state == state {
			n++
		}
	}
	return n
}

// takesServer reports whether the import takes a server away from the client.
func (p *serverPlan) takesServer(s clients.Server) bool {
	return slices.ContainsFunc(p.servers, func(other *plannedServer) bool {
		return other.from.At == s.At && (other.state == stateReady || other.state == stateDeclared)
	})
}
