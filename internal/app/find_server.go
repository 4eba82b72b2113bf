package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/serverlist"
	"github.com/sallyport/sallyport/internal/text"
)

// serverFolder is where the servers of this user are listed.
func (env *Environment) serverFolder() string { return serverlist.FolderOf(env.Lookup, env.Home) }

// NewNetwork returns how an observed program reaches hosts: not where the program
// itself listens.
func (env *Environment) NewNetwork() *sallyport.NetworkBackend {
	return env.guardNetwork(serverlist.NewListeners(env.serverFolder(), nil))
}

// guardNetwork returns the network of the environment, without the listeners of the
// program.
func (env *Environment) guardNetwork(own *serverlist.Listeners) *sallyport.NetworkBackend {
	var n sallyport.NetworkBackend
	if env.Network != nil {
		n = *env.Network
	}
	n.RefuseAddress = own.Refuse
	return &n
}

// dialOutside connects databases, mail relays and collectors, whose addresses the operator gives
// and no policy judges, to anything but the listeners of the program.
func (rt *Runtime) dialOutside(ctx context.Context, network, address string) (net.Conn, error) {
	return rt.dialExceptOwn(ctx, rt.Listeners, network, address)
}

// dialExceptOwn connects to an address that the operator gives, unless the program listens
// there.
func (rt *Runtime) dialExceptOwn(ctx context.Context, own *serverlist.Listeners, network, address string) (net.Conn, error) {
	d := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return nil // a socket of the file system, where the program does not listen
		}
		if what, cause := own.Refuse(at); what != "" {
			cmp.Or(rt.Logger, slog.New(slog.DiscardHandler)).Warn("what the configuration names is not connected to "+what, "address", at, "error", cause)
			return errors.Join(fmt.Errorf("%s is %s, which no tool reaches", at, what), cause)
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}

// ListServer lists this process as a server, so that commands about its record
// find its state. A server that cannot be listed serves nevertheless.
func (rt *Runtime) ListServer() {
	remove, err := serverlist.Add(rt.Env.serverFolder(), serverlist.Entry{PID: os.Getpid(), Dir: rt.Env.Dir, Config: rt.ConfigFiles})
	if err != nil {
		rt.Logger.Warn("commands in other folders do not find this server by themselves: give them --config", "error", err)
		return
	}
	rt.closers = append(rt.closers, remove)
}

// findServer returns what a command about a record looks at: what it was told,
// the working folder, or the only server of this user that runs.
func findServer(env *Environment, paths []string) (*Environment, []string, error) {
	if v, ok := env.Lookup("SALLYPORT_CONFIG"); len(paths) > 0 || ok && v != "" {
		return env, paths, nil
	}
	for _, name := range []string{ConfigName, StateDir} {
		if fsx.Exists(filepath.Join(env.Dir, name)) {
			return env, paths, nil
		}
	}
	list, err := serverlist.List(env.serverFolder())
	if err != nil || len(list) == 0 {
		return env, paths, err
	}
	if len(list) > 1 {
		return nil, nil, errors.New(askWhichServer(env.Dir, list))
	}
	e := list[0]
	fmt.Fprintf(env.Stderr, "sallyport: no %s here; using the server that runs in %s\n", ConfigName, text.PrintableLine(e.Dir))
	there := *env
	there.Dir, there.elsewhere = e.Dir, true
	return &there, e.Config, nil
}

// askWhichServer asks the user to name one of several servers.
func askWhichServer(dir string, list []serverlist.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "no %s in %s, and several servers run: choose one", ConfigName, dir)
	for _, e := range list {
		if len(e.Config) == 0 {
			fmt.Fprintf(&b, "\n  cd %s", text.ShellWord(e.Dir))
			continue
		}
		b.WriteString("\n " + text.RepeatFlag("config", e.Config))
	}
	return b.String()
}

// ServerURL returns the URL of a server of the configuration at an address, without a path.
func (rt *Runtime) ServerURL(address string) string {
	if rt.InForce().Config.TLS != nil {
		return "https://" + address
	}
	return "http://" + address
}
