package serving

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sallyport/sallyport/internal/app"
)

// The states that are told to systemd.
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
)

// notifyWait bounds how long systemd is waited for.
const notifyWait = time.Second

// notifySystemd tells systemd a state, where it has asked for that (sd_notify(3)). What
// cannot be told is no reason not to serve: systemd itself decides what follows.
func notifySystemd(ctx context.Context, rt *app.Runtime, state string) {
	path, ok := rt.Env.Lookup("NOTIFY_SOCKET")
	if !ok || path == "" {
		return
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unixgram", path)
	if err == nil {
		err = conn.SetWriteDeadline(time.Now().Add(notifyWait))
		if err == nil {
			_, err = conn.Write([]byte(state))
		}
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		rt.Logger.Warn("systemd cannot be told", "state", state, "error", err)
	}
}

// openListener listens at an address, or takes over the one socket that systemd holds
// for this process (sd_listen_fds(3)). Its address is then that of the unit.
func openListener(ctx context.Context, rt *app.Runtime, address string) (net.Listener, error) {
	l, err := inheritedListener(rt.Env.Lookup)
	if err != nil {
		return nil, err
	}
	if l != nil {
		return rt.Listeners.Adopt(l)
	}
	l, err = rt.Listeners.Open(ctx, address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another program, perhaps another sallyport, listens at %s: take another address, such as --listen %s (%w)", address, proposeAddress(address), err)
	}
	return l, err
}

// proposeAddress returns an address with the port after that of another one.
func proposeAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if n, e := strconv.ParseUint(port, 10, 16); err == nil && e == nil && n < math.MaxUint16 {
		return net.JoinHostPort(host, strconv.FormatUint(n+1, 10))
	}
	return net.JoinHostPort(host, "7332")
}

// firstInherited is the number of the first descriptor that systemd passes on.
const firstInherited = 3

// inheritedListener returns the socket that was passed to this process, nil without one.
func inheritedListener(lookup func(string) (string, bool)) (net.Listener, error) {
	pid, _ := lookup("LISTEN_PID")
	count, _ := lookup("LISTEN_FDS")
	if pid != strconv.Itoa(os.Getpid()) || count == "" || count == "0" {
		return nil, nil
	}
	if count != "1" {
		return nil, fmt.Errorf("systemd passes %s sockets: expected one ListenStream in the socket unit", strings.TrimSpace(count))
	}
	f := os.NewFile(firstInherited, "systemd")
	// FileListener makes a copy that no child inherits; the original must not stay.
	l, err := net.FileListener(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("the socket of systemd: %w", err)
	}
	if _, ok := l.Addr().(*net.TCPAddr); !ok {
		return nil, errors.Join(fmt.Errorf("the socket of systemd is %s: expected a TCP address", l.Addr().Network()), l.Close())
	}
	return l, nil
}
