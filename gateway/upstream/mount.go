// Package upstream mounts third-party MCP servers: each tool, prompt and
// resource of such a server becomes a tool of the gate, with the server's
// declared capabilities as its own.
//
// Start with [New], find out what the servers offer with [Mounts.Discovery]
// through a gate, and register [Mounts.Tools]. A server on standard input and
// output runs as a confined child, one process for each server, role and
// principal, so that no two principals share what a server keeps in memory. A
// remote server is reached through the network accessor of the call that needs
// it. What a server says about itself grants nothing: the declaration of the
// operator decides, and all output is untrusted. A definition's claim that a
// tool only reads counts for session facts only after the operator has approved
// the definition.
//
// A mounted definition can be used as long as the server offers exactly the
// same one. The gate asks a process what it offers before its first call, and
// again when the process announces a change. A definition that has changed is
// held back, see [Mounts.Quarantined].
//
// A server that is dead, slow or lying harms only its own tools. If it works
// for no principal, its tools are not available, with the reason, until it
// works again: see [Mounts.Due].
package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/output"
)

const (
	// defaultConcurrency bounds the calls that one process of a server works on
	// at once; further calls wait.
	defaultConcurrency = 8
	// startWait bounds the start of a server up to its lists where
	// [Options.StartWait] is 0. Servers of npm take one to three seconds on a
	// small machine.
	startWait = 20 * time.Second
	// maxDescription bounds the description of a tool, in code points.
	maxDescription = 16 << 10
)

// Server is one upstream server, as the operator declares it. Exactly one of
// Command and URL is set.
type Server struct {
	// Name is the middle of the names of its tools: 1 to 40 letters, digits, "_"
	// or "-", without "__" and without a "_" at the end.
	Name string
	// Command is the binary, found on the fixed search path, and its arguments.
	// Naming the binary grants it.
	Command []string
	// Programs lists absolute paths of files that the command runs, such as the
	// script of an interpreter, and folders of installed packages.
	Programs []string
	// Package is what Command, a package launcher, would fetch; nil for any
	// other command. A server with a Package cannot be mounted: the caller
	// first replaces Command by the command of an installed copy with
	// Arguments, and sets Package to nil.
	Package *install.Package
	// Arguments are those of Command that the program of Package gets.
	Arguments []string
	// Dir is the working directory; empty means the workspace.
	Dir string
	// Env is the environment in addition to the minimal one. It holds no
	// secrets.
	Env map[string]string
	// Secrets puts stand-ins for secrets into the environment.
	Secrets []sallyport.ChildSecret
	// URL is the address of a remote server. Naming its host grants it.
	URL string
	// Transport is the protocol of the server at URL: [TransportHTTP],
	// which is also the meaning of empty, or the older [TransportSSE]. It
	// is empty for a Command.
	Transport Transport
	// Headers are sent with each request to URL.
	Headers []Header
	// OAuth says how tokens for URL are obtained; nil sends none.
	OAuth *oauth.Server
	// Capabilities is what the server may touch in addition to what is implied.
	Capabilities sallyport.Capabilities
	// Permissions is what a principal needs for any of its tools.
	Permissions []string
	// RateLimit bounds the calls of each of its tools; nil means no limit.
	RateLimit *sallyport.RateLimit
	// Timeout bounds one call; 0 means the registry's default.
	Timeout time.Duration
	// Concurrency bounds the calls that one process works on at once; 0 means
	// 8.
	Concurrency int
	// Shared lets principals in the same role share a process, and with it
	// everything that the server remembers.
	Shared bool
	// Effects says what the server's tools do, by the server's own names of them.
	// What it does not say follows from what a server says of itself and from what it
	// may touch.
	Effects map[string]definition.ToolEffects
	// Sources holds the positions of the declaration and of its keys, as for a
	// [sallyport.Tool].
	Sources map[string]string
}

// Header is one header of the requests to a remote server.
type Header struct {
	// Name is the canonical name.
	Name string
	// Value is the text; if there is a secret, it stands before it.
	Value string
	// Secret is a reference whose value follows Value; empty means none.
	Secret string
}

// Options configure mounts. nil means the defaults.
type Options struct {
	// Version is reported to servers; empty means "dev".
	Version string
	// Logger receives what servers write to standard error and why they ended;
	// nil discards it.
	Logger *slog.Logger
	// Start is called right before a server is started. file is the file that
	// runs, absolute and with links followed; it is empty for a remote server,
	// which is only greeted. If Start returns an error, the server is not
	// started and the caller is told that error. nil lets every server start.
	Start func(server, file string) error
	// StartWait bounds the start of a server up to its lists; 0 means 20 s.
	StartWait time.Duration
	// Cleaner cleans the texts of servers in definitions; nil means one that
	// knows no secrets.
	Cleaner *output.Cleaner
	// CheckDefinition says whether a definition, as a server sent it, is accepted, and if
	// not, why. It is called for everything that is to be mounted and whenever
	// a server is listed again, from many goroutines. nil accepts what servers
	// offer when they are discovered. Whatever CheckDefinition says, a mounted definition
	// can only be used while the server still offers exactly the same one.
	CheckDefinition func(server string, kind Kind, definition json.RawMessage) (ok bool, why string)
	// Pinned says that CheckDefinition compares each definition with one that the
	// operator has approved. Without it, nothing that a server says about its
	// tools counts: a server that wants to evade a rule would say whatever
	// suits it.
	Pinned bool
	// Changed is called when something that is mounted is held back or
	// available again, so that clients can be notified. It must not wait for a
	// call. nil notifies no client.
	Changed func()
	// Previous is the mounts of the previous configuration. Processes of a
	// server that is declared in the same way and has the same grant go on, and
	// what it offered last counts as discovered: see [Mounts.Adopted]. The
	// caller still closes Previous as usual. It needs Grant. nil means that
	// there are none.
	Previous *Mounts
	// Grant says what the grant of a server in a role depends on beside its
	// declaration. A process is used only while this value is the same as when
	// the process was started. Grant is called once for each role. nil means
	// that the value never changes.
	Grant func(server, personality string) string
	// CloseSession calls the tool of [Mounts.CloseSessionTools] of a server in a role with
	// these arguments. It is called when a session with the server is over and
	// no call of the session runs any more. It returns when the call has ended.
	// nil tells servers nothing.
	CloseSession func(ctx context.Context, server, personality string, args json.RawMessage)
	// Principals names the principals that may be logged in at servers with
	// OAuth in addition to the local user. The tools of such a server are
	// available while one of them is logged in. nil means only the local user.
	Principals func(ctx context.Context) []string
	// Processes bounds the processes of all servers that calls have started; 0
	// means 128. Those of Previous count, and its bound stays.
	Processes int
	// Tokens keeps the tokens of servers with OAuth, and is a source of the
	// secrets of the gate that calls them. It is required if there is such a
	// server.
	Tokens *oauth.Vault
}

// Mounts is the upstream servers of one configuration. It is safe for
// concurrent use.
type Mounts struct {
	servers []*mountedServer
	o       Options
	// memory and processes are shared with the previous mounts, because their
	// bounds are for all servers.
	memory    *messageMemory
	processes *processLimit
	// fresh is freshTime, except in tests.
	fresh time.Duration
}

// mountedServer is one server as it is mounted.
type mountedServer struct {
	Server
	m *Mounts
	// same identifies the declaration and the files that the server is started
	// from; empty when they are not known.
	same string
	pool *connPool
	// authority is nil for a server without OAuth.
	authority *oauth.Authority
	// grants caches the results of Options.Grant, by role.
	grants sync.Map

	// probing is held by the running probe.
	probing sync.Mutex

	mu sync.Mutex
	// accepted is what the server offered when it was first discovered; the
	// role of that discovery is kept with it. latest is what it offered when it
	// was last discovered. toolsReturned says that Tools has returned accepted; until
	// then a later discovery replaces it.
	accepted      *serverListing
	role          string
	latest        *serverListing
	toolsReturned bool
	// mounted is what Tools has returned. held says why some of it is not
	// available, according to the views of the connections and to left, which
	// keeps the findings of connections that have ended. more is what is
	// offered and not mounted.
	mounted map[definitionKey]*offering
	views   map[*connLink]*offerView
	left    map[definitionKey]string
	held    map[definitionKey]string
	more    map[definitionKey]bool
	// health is that of the server as a whole.
	health serverHealth
	// leaving holds the connections whose server is being told that they end.
	leaving map[string]*connLink
}

// New returns the mounts of the servers. It does not start any server.
func New(servers []Server, o *Options) (*Mounts, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.Version, opts.StartWait = cmp.Or(opts.Version, "dev"), cmp.Or(opts.StartWait, startWait)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	var errs []error
	if opts.Start == nil {
		opts.Start = func(string, string) error { return nil }
	}
	if opts.Changed == nil {
		opts.Changed = func() {}
	}
	if opts.Cleaner == nil {
		opts.Cleaner = output.Plain()
	}
	m := &Mounts{fresh: freshTime, o: opts, memory: newMemory(), processes: &processLimit{most: cmp.Or(opts.Processes, defaultProcesses), all: map[*connLink]struct{}{}}}
	if opts.Previous != nil {
		m.memory, m.processes = opts.Previous.memory, opts.Previous.processes
	}
	for _, s := range servers {
		if err := s.checkDeclaration(); err != nil {
			errs = append(errs, err)
			continue
		}
		authority, err := s.newAuthority(opts.Tokens)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.Concurrency = cmp.Or(s.Concurrency, defaultConcurrency)
		m.servers = append(m.servers, &mountedServer{
			Server: s, m: m, same: s.declarationDigest(), pool: newPool(), authority: authority,
			mounted: map[definitionKey]*offering{}, views: map[*connLink]*offerView{}, left: map[definitionKey]string{}, leaving: map[string]*connLink{},
		})
	}
	if opts.Previous != nil && opts.Grant == nil {
		errs = append(errs, errors.New("upstream: Previous needs Grant: without it, it is not known which processes still have their grant"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	m.o.Previous = nil // it would keep all earlier mounts in memory
	for _, s := range m.servers {
		s.takeOverConnections(opts.Previous)
		s.pool.addServer(s)
	}
	return m, nil
}

// findServer returns the server of a name; nil when there is none.
func (m *Mounts) findServer(name string) *mountedServer {
	for _, s := range m.servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// takeOverConnections takes over the connections and the known offer of an equally declared
// server. A remote server with OAuth is reached with the tokens of its own
// mounts.
func (s *mountedServer) takeOverConnections(m *Mounts) {
	if m == nil || s.same == "" {
		return
	}
	was := m.findServer(s.Name)
	if was == nil || was.same != s.same {
		return
	}
	s.adoptKnowledge(was)
	if s.authority == nil {
		s.pool = was.pool
	}
}

// declarationDigest identifies the declaration and the files that the server is started
// from. It leaves out the position of the declaration and what concerns single
// calls. It is empty when the files are not known.
func (s *Server) declarationDigest() string {
	d := *s
	d.Sources, d.Permissions, d.RateLimit, d.Timeout = nil, nil, nil, 0
	files := []any{}
	for _, path := range s.Programs {
		info, err := os.Stat(path)
		if err != nil {
			return ""
		}
		files = append(files, info.Size(), info.ModTime())
	}
	text, err := json.Marshal([]any{d, files})
	if err != nil {
		return ""
	}
	return digest.Text(text)
}

// checkDeclaration refuses an invalid declaration.
func (s *Server) checkDeclaration() error {
	if err := lock.CheckServer(s.Name); err != nil {
		return fmt.Errorf("upstream: %s: %w", quoteName(s.Name), err)
	}
	switch {
	case (len(s.Command) == 0) == (s.URL == ""):
		return fmt.Errorf("upstream: server %s: expected either a command or a URL", s.Name)
	case s.Transport != "" && (s.URL == "" || s.Transport != TransportHTTP && s.Transport != TransportSSE):
		return fmt.Errorf("upstream: server %s: transport %s: expected http or sse, for a URL", s.Name, quoteName(string(s.Transport)))
	case s.Package != nil:
		return fmt.Errorf("upstream: server %s: the package %s is not installed", s.Name, s.Package)
	case s.OAuth != nil && s.URL == "":
		return fmt.Errorf("upstream: server %s: OAuth is for a URL", s.Name)
	case s.Shared && len(s.Capabilities.Input) > 0:
		return fmt.Errorf("upstream: server %s: shared and capabilities.input exclude each other: a question could reach another principal", s.Name)
	case s.Concurrency < 0 || s.Timeout < 0:
		return fmt.Errorf("upstream: server %s: concurrency and timeout must not be negative", s.Name)
	}
	return nil
}

// Close ends the processes of every server that no other mounts have taken
// over, and waits until they are gone.
func (m *Mounts) Close() error {
	var ending sync.WaitGroup
	for _, s := range m.servers {
		ending.Go(func() { s.pool.removeServer(s) })
	}
	ending.Wait()
	return nil
}
