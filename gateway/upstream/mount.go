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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/gateway/lock"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/output"
)

const (
	// defaultConcurrency bounds the calls that one process of a server works on
	// at once; further calls wait.
	defaultConcurrency = 8
	// startWait bounds the start of a server up to its first answer. Servers of
	// npm take one to three seconds on a small machine.
	startWait = 20 * time.Second
	// maxDescription bounds the description of a tool, in code points.
	maxDescription = 16 << 10
)

// Server is one upstream server, as the operator declares it. Exactly one of
// Command and URL is set.
type Server struct {
	// Name is the middle of the names of its tools. It must pass
	// [lock.CheckServer].
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
	// Transport is the protocol of the server at URL: [lock.TransportHTTP],
	// which is also the meaning of empty, or the older [lock.TransportSSE]. It
	// is empty for a Command.
	Transport lock.Transport
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
	// Start is asked right before a server is started, about the file that runs,
	// absolute and with links followed; a remote one is greeted, which no file
	// does. Its error refuses, and is what the caller is told. nil lets every
	// server start.
	Start func(server, file string) error
	// Cleaner goes over what servers write into definitions; nil means one that
	// knows no secrets.
	Cleaner *output.Cleaner
	// Judge says whether a definition, as a server sent it, is one that somebody
	// has accepted, and why not. It is asked about everything that is to be
	// mounted and whenever a server is listed again, from many goroutines. nil
	// accepts what servers offer when they are discovered. Whatever it says, what
	// is mounted is only used while the server still offers the very same.
	Judge func(server string, kind lock.Kind, definition json.RawMessage) (ok bool, why string)
	// Pinned says that Judge holds each definition to one that the operator has
	// approved. Without it nothing counts that a server says of its tools: whoever
	// wants to get past a rule would say what suits it.
	Pinned bool
	// Changed is told when something that is mounted is held back, or is not any
	// more, so that clients can be told. It must not wait for a call. nil tells
	// nobody.
	Changed func()
	// Previous is the mounts of the configuration before: the processes of a
	// server that is declared in the same way, and has the same grant, go on, and
	// what it offered last counts as discovered: see [Mounts.Adopted]. They are
	// closed as ever. It needs Grant. nil means that there are none.
	Previous *Mounts
	// Grant says, for a server in a role, what its grant depends on beside its
	// declaration: a process is used only where this is what it was when it was
	// started. It is asked once for each role. nil means that it never changes.
	Grant func(server, personality string) string
	// Farewell calls the tool of [Mounts.Farewells] of a server in a role with
	// these arguments, when a session with it is over: no call of it runs any more.
	// It returns when the call has ended. nil tells servers nothing.
	Farewell func(ctx context.Context, server, personality string, args json.RawMessage)
	// Principals names who may be logged in at servers with OAuth beside the local
	// user: the tools of one are available while somebody is. nil means nobody.
	Principals func(ctx context.Context) []string
	// Processes bounds the processes of all servers that calls have started; 0
	// means 128. Those of Previous count, and its bound stays.
	Processes int
	// Tokens keeps the tokens of servers with OAuth, and is a source of the
	// secrets of the gate that calls them; it is needed when there is one.
	Tokens *oauth.Vault
}

// Mounts is the upstream servers of one configuration. It is safe for
// concurrent use.
type Mounts struct {
	servers []*server
	o       Options
	// memory and processes are shared with the mounts before: they are for all
	// servers.
	memory    *memory
	processes *processes
	// fresh is freshTime, but in tests.
	fresh time.Duration
}

// server is one server as it is mounted.
type server struct {
	Server
	m *Mounts
	// same tells its declaration, and what it is started from, from another; empty
	// when that is not known.
	same string
	pool *pool
	// authority is nil for a server without OAuth.
	authority *oauth.Authority
	// grants holds what Options.Grant says, by role.
	grants sync.Map

	// probing is held by the one probe that runs.
	probing sync.Mutex

	mu sync.Mutex
	// accepted is what the server offered when it was discovered first, in which
	// role; latest is what it offered when it was discovered last.
	// taken says that Tools has returned it: until then a later one replaces it.
	accepted *listing
	role     string
	latest   *listing
	taken    bool
	// mounted is what Tools has returned, held why some of it is not available:
	// because of what the views of connections show, or what is left of that of
	// connections that have ended. more is what is offered and not mounted.
	mounted map[thing]*offering
	views   map[*link]*view
	left    map[thing]string
	held    map[thing]string
	more    map[thing]bool
	// health is that of the server as a whole.
	health health
	// leaving is the connections whose server is being told that they end.
	leaving map[string]*link
}

// New returns the mounts of the servers. Nothing is started yet.
func New(servers []Server, o *Options) (*Mounts, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.Version = cmp.Or(opts.Version, "dev")
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	var errs []error
	if opts.Start == nil {
		opts.Start = func(string, string) error { return nil }
	}
	if opts.Cleaner == nil {
		var err error
		opts.Cleaner, err = output.New(nil)
		errs = append(errs, err)
	}
	m := &Mounts{fresh: freshTime, o: opts, memory: newMemory(), processes: &processes{most: cmp.Or(opts.Processes, defaultProcesses), all: map[*link]struct{}{}}}
	if opts.Previous != nil {
		m.memory, m.processes = opts.Previous.memory, opts.Previous.processes
	}
	for _, s := range servers {
		if err := s.check(); err != nil {
			errs = append(errs, err)
			continue
		}
		authority, err := s.authority(opts.Tokens)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.Concurrency = cmp.Or(s.Concurrency, defaultConcurrency)
		m.servers = append(m.servers, &server{
			Server: s, m: m, same: s.digest(), pool: newPool(), authority: authority,
			mounted: map[thing]*offering{}, views: map[*link]*view{}, left: map[thing]string{}, leaving: map[string]*link{},
		})
	}
	if opts.Previous != nil && opts.Grant == nil {
		errs = append(errs, errors.New("upstream: Previous needs Grant: without it nobody can say which processes still have their grant"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	m.o.Previous = nil // which would keep all that came before
	for _, s := range m.servers {
		s.succeed(opts.Previous)
		s.pool.join(s)
	}
	return m, nil
}

// succeed takes over the connections of a server that is declared in the same
// way, and what is known of it. A remote one with OAuth is reached with the
// tokens of its own mounts.
func (s *server) succeed(m *Mounts) {
	if m == nil || s.same == "" {
		return
	}
	for _, was := range m.servers {
		if was.Name != s.Name || was.same != s.same {
			continue
		}
		s.adopt(was)
		if s.authority == nil {
			s.pool = was.pool
		}
	}
}

// digest is that of the declaration, without where it stands and what
// concerns single calls, and of the files that it is started from. It is empty
// when that is not known.
func (s *Server) digest() string {
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
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// check refuses what cannot be a server.
func (s *Server) check() error {
	if err := lock.CheckServer(s.Name); err != nil {
		return fmt.Errorf("upstream: %s: %w", quoted(s.Name), err)
	}
	switch {
	case (len(s.Command) == 0) == (s.URL == ""):
		return fmt.Errorf("upstream: server %s: expected either a command or a URL", s.Name)
	case s.Transport != "" && (s.URL == "" || s.Transport != lock.TransportHTTP && s.Transport != lock.TransportSSE):
		return fmt.Errorf("upstream: server %s: transport %s: expected http or sse, for a URL", s.Name, quoted(string(s.Transport)))
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
		ending.Go(func() { s.pool.leave(s) })
	}
	ending.Wait()
	return nil
}
