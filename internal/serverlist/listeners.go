package serverlist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
)

// whatListener is what is said of an address at which the program itself listens.
const whatListener = "a listener of Sallyport itself"

// whatUnknown is what is said of an address of this machine that might be one.
const whatUnknown = "an address of this machine that may be a listener of Sallyport itself"

// Listeners opens the listeners of the program, and knows those of every process of
// this user on this machine, so that no tool reaches them. The processes find each
// other by the folder of the entries. It is safe for concurrent use.
type Listeners struct {
	folder string
	logger *slog.Logger

	mu  sync.Mutex
	own []netip.AddrPort
}

// NewListeners returns the listeners that are listed in a folder; see [FolderOf].
// The logger receives what could not be listed; nil drops it.
func NewListeners(folder string, logger *slog.Logger) *Listeners {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Listeners{folder: folder, logger: logger}
}

// Open listens at an address, host:port with port 0 for any that is free. The
// address is listed before anything is accepted there, until the listener is closed.
func (l *Listeners) Open(ctx context.Context, address string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	var forget func()
	if at.Port != 0 {
		// Before it listens: what connects in between would be served.
		forget = l.addAddress(at.AddrPort())
	}
	inner, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at.String())
	if err != nil {
		if forget != nil {
			forget()
		}
		return nil, err
	}
	if forget == nil {
		forget = l.addAddress(inner.Addr().(*net.TCPAddr).AddrPort())
	}
	return &listedListener{Listener: inner, forget: sync.OnceFunc(forget)}, nil
}

// Adopt lists a listener of TCP that was opened elsewhere, until it is closed.
func (l *Listeners) Adopt(inner net.Listener) (net.Listener, error) {
	at, ok := inner.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("%s is no TCP address", inner.Addr())
	}
	return &listedListener{Listener: inner, forget: sync.OnceFunc(l.addAddress(at.AddrPort()))}, nil
}

// listedListener is a listener that is listed until it is closed.
type listedListener struct {
	net.Listener
	forget func()
}

func (l *listedListener) Close() error {
	defer l.forget()
	return l.Listener.Close()
}

// addAddress lists an address of this process until forget is called.
func (l *Listeners) addAddress(at netip.AddrPort) (forget func()) {
	if !at.Addr().IsValid() {
		at = netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own = append(l.own, at)
	remove, err := Add(l.folder, Entry{PID: os.Getpid(), Listens: at})
	if err != nil {
		l.logger.Warn("other processes of this user do not know this listener, and refuse tools every address of this machine: "+fixFolder, "address", at, "error", err)
		remove = func() error { return nil }
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.own, at); i >= 0 {
			l.own = slices.Delete(l.own, i, i+1)
		}
		_ = remove() // of an ended process anyone removes it
	}
}

// fixFolder is what a user does about a folder that cannot be used.
const fixFolder = "set XDG_STATE_HOME to a folder that only this user can write"

// Refuse says what an address is that no tool may be connected to, as it stands in
// an error, and the cause for the operator; it returns "" for every other one. A list
// that cannot be read refuses every address of this machine. Nothing is read for the
// address of another machine.
func (l *Listeners) Refuse(to netip.AddrPort) (what string, cause error) {
	to = netip.AddrPortFrom(plainAddress(to.Addr()), to.Port())
	if !isHere(to.Addr()) {
		return "", nil
	}
	l.mu.Lock()
	own := slices.ContainsFunc(l.own, func(at netip.AddrPort) bool { return reachesListener(at, to) })
	l.mu.Unlock()
	if own {
		return whatListener, nil
	}
	found, err := l.findListed(to)
	switch {
	case err != nil:
		return whatUnknown, fmt.Errorf("the list of the listeners of this user cannot be read: %w; %s", err, fixFolder)
	case found:
		return whatListener, nil
	default:
		return "", nil
	}
}

// errFound ends the search of the entries.
var errFound = errors.New("found")

// findListed reports whether a process listens at an address.
func (l *Listeners) findListed(to netip.AddrPort) (found bool, err error) {
	if !hasLocks {
		return false, nil // no process is listed on such a system
	}
	if l.folder == "" {
		return false, errors.New("the user has no home folder")
	}
	if _, err := os.Lstat(l.folder); errors.Is(err, fs.ErrNotExist) {
		// Nothing was ever listed, if it could have been.
		return false, mayCreate(l.folder)
	}
	if !isPrivate(l.folder) {
		return false, fmt.Errorf("%s is not a folder that only this user can write", l.folder)
	}
	err = eachEntry(l.folder, func(e Entry, err error) error {
		if err == nil && e.Listens.IsValid() && reachesListener(e.Listens, to) {
			return errFound
		}
		return err
	})
	if err == errFound {
		return true, nil
	}
	return false, err
}

// reachesListener reports whether a connection to an address of this machine arrives at a
// listener. One to no address in particular arrives at loopback.
func reachesListener(listener, to netip.AddrPort) bool {
	at := plainAddress(listener.Addr())
	return listener.Port() == to.Port() && (at.IsUnspecified() || to.Addr().IsUnspecified() || at == to.Addr())
}

// plainAddress returns an address without the forms that the kernel takes for it.
func plainAddress(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// isHere reports whether an address is one of this machine.
func isHere(a netip.Addr) bool {
	if a.IsLoopback() || a.IsUnspecified() {
		return true
	}
	list, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(list, func(one net.Addr) bool {
		n, ok := one.(*net.IPNet)
		if !ok {
			return false
		}
		ip, ok := netip.AddrFromSlice(n.IP)
		return ok && plainAddress(ip) == a
	})
}
