package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
)

// Bounds of the HTTP server. A tool call may take minutes, so that writing
// has no bound of its own: the call's deadline is the bound.
const (
	defaultListen  = "127.0.0.1:7331"
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 60 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	// At the end calls have finishTimeout; those that are cancelled then have
	// the rest of shutdownTimeout to be answered.
	finishTimeout   = 10 * time.Second
	shutdownTimeout = 15 * time.Second
)

// tokenSetting is the state's key of the first token's hash.
const tokenSetting = "auth/local/token_sha256"

// serving are the flags of serve.
type serving struct {
	stdio, strict, newToken, json bool
	listen, personality           string
}

func serveCommand(env *environment, f *flags) *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the tools over MCP",
		Long: `Serve the tools over MCP: streamable HTTP at /mcp with a bearer token, or stdio
with --stdio. The token is made at the first start, printed once and kept as a
hash; --new-token replaces it.`,
		Example: `  sallyport serve
  sallyport serve --listen 127.0.0.1:8080 --personality researcher
  sallyport serve --stdio`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if s.stdio && cmd.Flags().Changed("listen") {
				return misused(errors.New("serve: --stdio and --listen exclude each other"))
			}
			// A client that is gone closes the pipe. Its calls are still
			// recorded; the signal would end the process first.
			signal.Ignore(syscall.SIGPIPE)
			s.json = f.json
			g, err := openGate(cmd.Context(), env, f)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, g.Close()) }()
			return g.serve(cmd.Context(), env, &s)
		},
	}
	cmd.Flags().BoolVar(&s.stdio, "stdio", false, "speak MCP over standard input and output")
	cmd.Flags().StringVar(&s.listen, "listen", defaultListen, "the `HOST:PORT` to listen at; loopback only")
	cmd.Flags().StringVar(&s.personality, "personality", "", "the `ROLE` of every caller (default: the only one, else default)")
	cmd.Flags().BoolVar(&s.strict, "strict", false, "refuse to start when a tool does not fit its personality")
	cmd.Flags().BoolVar(&s.newToken, "new-token", false, "replace the bearer token and print the new one")
	return cmd
}

func (g *gate) serve(ctx context.Context, env *environment, s *serving) error {
	role, err := g.config.Choose(s.personality)
	if err != nil {
		return misused(err)
	}
	for _, m := range g.misfits() {
		if s.strict {
			return misused(fmt.Errorf("misfit: %s", m))
		}
		fmt.Fprintf(env.stderr, "sallyport: warning: %s\n", m)
	}
	server, err := gateway.New(g.registry, &gateway.Options{
		Personality: role.Name, Version: version(), Logger: g.logger,
		Principal: sallyport.Principal{Name: sallyport.LocalPrincipal},
	})
	if err != nil {
		return misused(err)
	}
	if s.stdio {
		if err := server.Stdio(ctx, env.stdin, env.stdout); err != nil {
			return misused(err)
		}
		return nil
	}
	return g.serveHTTP(ctx, env, s, role, server)
}

// serveHTTP listens, says how to connect, and serves until the context ends.
// What runs then is finished or cancelled, and recorded either way.
func (g *gate) serveHTTP(ctx context.Context, env *environment, s *serving, role *sallyport.Personality, server *gateway.Server) error {
	listener, err := listenLoopback(ctx, s.listen)
	if err != nil {
		return misused(err)
	}
	// A token that is made before the port is taken would never be shown
	// when it cannot be taken.
	token, hash, err := g.token(ctx, s.newToken)
	if err != nil {
		return misused(errors.Join(err, listener.Close()))
	}
	address := listener.Addr().String()
	guard, err := auth.NewGuard(address, auth.Single{
		Hash: hash, Owner: sallyport.Principal{Name: sallyport.LocalPrincipal},
	}, &auth.GuardOptions{Open: []string{"/healthz", "/readyz"}})
	if err != nil {
		return misused(errors.Join(err, listener.Close()))
	}
	if err := g.announce(env, s, role, address, token); err != nil {
		return misused(errors.Join(err, listener.Close()))
	}
	return listen(ctx, listener, guard.Protect(g.routes(server)), server.Shutdown)
}

// listenLoopback listens at a host:port of this machine's loopback.
func listenLoopback(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("--listen %q: expected host:port", address)
	}
	if !auth.Loopback(host) {
		return nil, fmt.Errorf("not supported yet: --listen %s: only loopback addresses are served", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// A name is judged by the address that it led to.
	if a, ok := listener.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("--listen %s is %s, which is not a loopback address", address, listener.Addr()), listener.Close())
	}
	return listener, nil
}

// routes is every route of the server.
func (g *gate) routes(server *gateway.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if _, err := g.head(r.Context()); err != nil {
			http.Error(w, "the record cannot be read", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	return mux
}

// listen serves until the context ends, then waits for what runs. The function
// finish ends the sessions: a stream on which a client listens is a request
// that does not end by itself.
func listen(ctx context.Context, l net.Listener, h http.Handler, finish func(context.Context) error) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		// Requests live as long as the server: the end of the context shuts
		// it down in order instead of cutting every call.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return misused(err)
	case <-ctx.Done():
	}
	server.RegisterOnShutdown(func() {
		calls, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
		defer cancel()
		// The error says that calls had to be cancelled, as their records do.
		_ = finish(calls)
	})
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err := server.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-ended
	return err
}

// token returns the hash of the bearer token. At the first start, or when a
// new one is asked for, it makes the token and returns it to be printed once.
func (g *gate) token(ctx context.Context, replace bool) (token, hash string, err error) {
	token, hash = auth.NewToken()
	if replace {
		return token, hash, g.settings.Put(ctx, tokenSetting, hash)
	}
	existing, stored, err := g.settings.PutIfAbsent(ctx, tokenSetting, hash)
	if err != nil || stored {
		return token, hash, err
	}
	return "", existing, nil
}

// announcement is what serve --json prints.
type announcement struct {
	URL         string     `json:"url"`
	Workspace   string     `json:"workspace"`
	Personality string     `json:"personality"`
	Token       string     `json:"token,omitempty"` // at the first start, or a new one
	Enforced    []enforced `json:"enforced"`
}

// announce says where the server is, how to connect, what to try, and what is
// enforced.
func (g *gate) announce(env *environment, s *serving, role *sallyport.Personality, address, token string) error {
	p := &printer{w: env.stdout, colour: env.colour, json: s.json}
	url := "http://" + address + "/mcp"
	if s.json {
		return p.value(announcement{url, g.config.Workspace, role.Name, token, enforcement(g.config.State.Path)})
	}
	shown := token
	p.line("sallyport serves %s", url)
	p.line("workspace    %s", g.config.Workspace)
	p.line("personality  %s: %s", role.Name, role.Description)
	if token != "" {
		p.line("token        %s", token)
		p.line("             printed this once, kept as a hash; serve --new-token replaces it")
	} else {
		shown = "<token>"
		p.line("token        made at the first start; serve --new-token replaces it")
	}
	p.line("")
	p.line("paste into an MCP client:")
	p.line("  %s", httpEntry(url, shown))
	if g.builtin {
		p.line("or let it start the server itself: sallyport init, then sallyport connect claude-code --print")
	} else {
		p.line("or let it start the server itself: sallyport connect claude-code --print")
	}
	p.line("")
	p.line("try, from another terminal in %s:", env.dir)
	self := invocation()
	p.line("  %s call read_file '{\"path\":\"README.md\",\"end_line\":5}'   # allowed", self)
	p.line("  %s call read_file '{\"path\":\"/etc/passwd\"}'              # refused", self)
	p.line("  %s audit tail", self)
	p.line("")
	printEnforcement(p, enforcement(g.config.State.Path))
	return nil
}

// invocation is how this program was started, in a form that works again:
// `go run` builds into a folder that is gone afterwards.
func invocation() string {
	exe, err := os.Executable()
	if err != nil || isTemporary(exe) {
		return "go run ./cmd/sallyport"
	}
	return "sallyport"
}

// httpEntry is the line for a client that takes mcpServers as JSON.
func httpEntry(url, token string) string {
	entry := map[string]any{"sallyport": map[string]any{
		"type": "http", "url": url, "headers": map[string]string{"Authorization": "Bearer " + token},
	}}
	// Strings in maps always marshal.
	text, _ := json.Marshal(map[string]any{"mcpServers": entry})
	return string(text)
}
