// Package upstream mounts MCP servers that somebody else wrote: each tool of
// such a server becomes a tool of the gate, with the server's declared
// capabilities as its own.
//
// Start with [New], find out what the servers offer with [Mounts.Discovery]
// through a gate, and register [Mounts.Tools]. A server on standard input and
// output runs as a confined child, one process for each server, role and
// principal, so that no two principals share what a server keeps in memory. A
// remote one is reached through the network accessor of the very call. What a
// server says of itself (that a tool only reads, say) is never believed: the
// declaration of the operator decides, and all output is untrusted.
//
// A server that is dead, slow or lying harms its own tools only.
package upstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/gateway/lock"
	"github.com/sallyport/sallyport/output"
)

const (
	// defaultConcurrency bounds the calls that one process of a server works
	// on at once; others wait for their turn.
	defaultConcurrency = 8
	// startWait bounds the start of a server up to its first answer. Servers
	// of npm take one to three seconds on a small machine.
	startWait = 20 * time.Second
	// maxTools bounds what one server may offer: a model cannot choose between
	// more, and each costs a schema.
	maxTools = 500
	// maxDescription bounds the description of a tool, in code points.
	maxDescription = 16 << 10
	// maxPages bounds the pages of a list, which may otherwise have no end.
	maxPages = 100
)

// Server is one upstream server, as the operator declares it. Exactly one of
// Command and URL is set.
type Server struct {
	// Name is the middle of the names of its tools, such as [lock.CheckServer]
	// accepts.
	Name string
	// Command is the binary, found on the fixed search path, and its
	// arguments. The binary is granted by being named.
	Command []string
	// Programs lists absolute paths of files that the command runs, such as
	// the script of an interpreter, and folders of installed packages.
	Programs []string
	// Package is what Command, a package launcher, would fetch; nil for any
	// other command. It is not mounted: whoever mounts it puts the command of an
	// installed copy with Arguments in the place of Command, and takes Package
	// away.
	Package *install.Package
	// Arguments are those of Command that the program of Package gets.
	Arguments []string
	// Dir is the working directory; empty means the workspace.
	Dir string
	// Env is the environment beside the minimal one. It holds no secrets.
	Env map[string]string
	// Secrets puts stand-ins for secrets into the environment.
	Secrets []sallyport.ChildSecret
	// URL is where a remote server listens, streamable HTTP. Its host is
	// granted by being named.
	URL string
	// Headers are sent with each request to URL.
	Headers []Header
	// Capabilities is what the server may touch beside what is implied.
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
	// whatever the server remembers.
	Shared bool
	// Sources is the place of the declaration and of its keys, as for a
	// [sallyport.Tool].
	Sources map[string]string
}

// Header is one header of the requests to a remote server.
type Header struct {
	// Name is the canonical name.
	Name string
	// Value is the text, in front of the secret when there is one.
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
}

// Mounts is the upstream servers of one configuration. It is safe for
// concurrent use.
type Mounts struct {
	servers []*server
	o       Options
}

// server is one server and its connections.
type server struct {
	Server
	m *Mounts

	mu       sync.Mutex
	offered  []*mcp.Tool
	closed   bool
	links    map[key]*link
	failures map[key]failure
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
	m := &Mounts{o: opts}
	for _, s := range servers {
		if err := s.check(); err != nil {
			errs = append(errs, err)
			continue
		}
		s.Concurrency = cmp.Or(s.Concurrency, defaultConcurrency)
		m.servers = append(m.servers, &server{Server: s, m: m, links: map[key]*link{}, failures: map[key]failure{}})
	}
	return m, errors.Join(errs...)
}

// check refuses what cannot be a server.
func (s *Server) check() error {
	if err := lock.CheckServer(s.Name); err != nil {
		return fmt.Errorf("upstream: %s: %w", quoted(s.Name), err)
	}
	switch {
	case (len(s.Command) == 0) == (s.URL == ""):
		return fmt.Errorf("upstream: server %s: expected either a command or a URL", s.Name)
	case s.Package != nil:
		return fmt.Errorf("upstream: server %s: the package %s is not installed", s.Name, s.Package)
	case s.Concurrency < 0 || s.Timeout < 0:
		return fmt.Errorf("upstream: server %s: concurrency and timeout must not be negative", s.Name)
	}
	return nil
}

// DiscoveryName is the name of the tool that asks a server what it offers.
func DiscoveryName(server string) string { return "discover-" + server }

// Discovery returns a tool for each server, which asks it what it offers. A
// gate of their own runs them, in a role that may use the server, so that
// starting it for its list is decided, confined and recorded like a call to
// it. What they answer is for the operator.
func (m *Mounts) Discovery() []sallyport.Tool {
	tools := make([]sallyport.Tool, 0, len(m.servers))
	for _, s := range m.servers {
		t := s.tool(DiscoveryName(s.Name))
		t.AlwaysInclude, t.OutputIsUntrusted = true, false
		t.Description = "Asks the MCP server " + s.Name + " what it offers."
		t.Timeout, t.Permissions, t.RateLimit = startWait, nil, nil
		t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			n, err := s.discover(ctx, c)
			if err != nil {
				return sallyport.Result{}, err
			}
			return sallyport.OK(fmt.Sprintf("%d tools", n)), nil
		}
		tools = append(tools, t)
	}
	return tools
}

// discover asks the server for its tools and ends the connection: calls have
// processes of their own.
func (s *server) discover(ctx context.Context, c *sallyport.Call) (int, error) {
	l := s.newLink(key{})
	if err := l.dial(ctx, c); err != nil {
		return 0, err
	}
	defer l.end()
	offered, err := list(withCall(ctx, c), l.session)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered = offered
	return len(offered), nil
}

// list asks for all pages.
func list(ctx context.Context, session *mcp.ClientSession) ([]*mcp.Tool, error) {
	var all []*mcp.Tool
	params := &mcp.ListToolsParams{}
	for range maxPages {
		res, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, failed("tools/list", err)
		}
		all = append(all, res.Tools...)
		if len(all) > maxTools {
			return nil, sallyport.Err(fmt.Sprintf("the server offers more than %d tools", maxTools), "").Err()
		}
		if res.NextCursor == "" {
			return all, nil
		}
		params.Cursor = res.NextCursor
	}
	return nil, sallyport.Err(fmt.Sprintf("the server's list has more than %d pages", maxPages), "").Err()
}

// Left is a tool that is not mounted.
type Left struct {
	// Server is the name of its server, Tool what the server calls it.
	Server, Tool string
	// Why says what is wrong with it.
	Why string
}

// Tools returns the tools of the servers that were discovered, by name, and
// what was left out and why. Of tools whose names cannot be told apart none is
// mounted.
func (m *Mounts) Tools() (tools []sallyport.Tool, left []Left) {
	for _, s := range m.servers {
		s.mu.Lock()
		offered := slices.Clone(s.offered)
		s.mu.Unlock()
		slices.SortFunc(offered, func(a, b *mcp.Tool) int { return strings.Compare(a.Name, b.Name) })
		refused := conflicts(s.Name, offered)
		for _, def := range offered {
			t, err := s.mount(def)
			why := refused[def.Name]
			if err != nil {
				why = err.Error()
			}
			if why != "" {
				left = append(left, Left{s.Name, def.Name, why})
				continue
			}
			tools = append(tools, t)
		}
	}
	return tools, left
}

// conflicts says of tools of one server why their names cannot stand side by
// side. The names of servers keep those of several apart.
func conflicts(server string, offered []*mcp.Tool) map[string]string {
	refs, refused := make([]lock.Ref, len(offered)), map[string]string{}
	for i, def := range offered {
		refs[i] = lock.Ref{Server: server, Tool: def.Name}
		if i > 0 && offered[i-1].Name == def.Name {
			refused[def.Name] = "the server offers two tools of this name"
		}
	}
	for _, c := range lock.Conflicts(refs) {
		for _, r := range c.Tools {
			refused[r.Tool] = c.Message
		}
	}
	return refused
}

// Close ends every server and waits until they are gone.
func (m *Mounts) Close() error {
	var ending sync.WaitGroup
	for _, s := range m.servers {
		s.mu.Lock()
		s.closed = true
		links := slices.Collect(maps.Values(s.links))
		s.mu.Unlock()
		for _, l := range links {
			ending.Go(func() {
				<-l.ready
				s.drop(l)
			})
		}
	}
	ending.Wait()
	return nil
}
