package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/scratch"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/seccomp"
)

// observer runs one program that is watched and not confined.
type observer struct {
	o       ObserveOptions
	runner  *Runner // for the search path and the environment only
	dir     string  // holds the home and the temporary files of the program
	scratch *scratch.Space
	access  *observedAccess
	proxy   *egress.Proxy // nil without a network namespace
	direct  *directPorts  // as the proxy
	blind   error         // why there is none
	private atomic.Bool   // whether a host with a private address was asked for
}

// Observe runs a program and reports what it used. Nothing is refused and
// everything is noted: the program sees the tree of this machine with the
// rights of this process, and goes out through the proxy, whose policy allows
// every public host. As for a confined child, its environment and home are its
// own, and it gains no privileges by starting something.
//
// The end of ctx ends the program with all its descendants; what was seen until
// then is reported. An error means that the program did not run: it matches
// what a [Runner] says about a binary that is not there, and is not_available
// where the kernel has no seccomp notifications.
func Observe(ctx context.Context, argv []string, o *ObserveOptions) (*Observation, error) {
	if len(argv) == 0 {
		return nil, sallyport.InputInvalid("there is no program to observe")
	}
	b := &observer{}
	if o != nil {
		b.o = *o
	}
	if err := b.prepareDirs(); err != nil {
		return nil, err
	}
	defer b.scratch.Close()
	prog, err := b.runner.resolveProgram(argv[0], nil)
	if err != nil {
		return nil, err
	}
	out, err := b.runProgram(ctx, prog, argv)
	if err != nil {
		return nil, confinementError(argv[0], err)
	}
	b.makeDeclaration(out, argv[0], prog)
	return out, nil
}

// prepareDirs finds the folders and makes the private one.
func (b *observer) prepareDirs() (err error) {
	work := b.o.Workspace
	if work == "" {
		if work, err = os.Getwd(); err != nil {
			return err
		}
	}
	if work, err = filepath.Abs(work); err != nil {
		return err
	}
	if b.o.Workspace, err = filepath.EvalSymlinks(work); err != nil {
		return fmt.Errorf("workspace: %w", err)
	}
	if b.o.Home == "" {
		// Without a home there is nothing to call ${home}.
		b.o.Home, _ = os.UserHomeDir()
	}
	if real, err := filepath.EvalSymlinks(b.o.Home); err == nil {
		b.o.Home = real
	}
	b.runner = &Runner{o: Options{Toolchains: b.o.Toolchains}}
	b.scratch = scratch.New("")
	if b.dir, err = b.scratch.Dir("observe"); err != nil {
		return err
	}
	if b.dir, err = filepath.EvalSymlinks(b.dir); err != nil {
		return err
	}
	if err := b.makePrivateDirs(); err != nil {
		b.scratch.Close()
		return err
	}
	b.access = newObservedAccess(denyfloor.New(b.o.Files), b.o.Workspace, b.freeDirs())
	return nil
}

// privateHome and privateTmp are the private folders of the program.
func (b *observer) privateHome() string { return filepath.Join(b.dir, "home") }
func (b *observer) privateTmp() string  { return filepath.Join(b.dir, "tmp") }

// makePrivateDirs makes the private folders. Caches that a confined child finds
// filled are those of the user here.
func (b *observer) makePrivateDirs() error {
	for _, dir := range []string{b.privateHome(), b.privateTmp()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	for _, t := range b.o.Toolchains {
		for _, c := range t.Caches {
			at := filepath.Join(b.privateHome(), c.Home)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				return err
			}
			if err := os.Symlink(c.Host, at); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		}
	}
	return nil
}

// freeDirs is what every confined child has without a declaration.
func (b *observer) freeDirs() []string {
	free := append([]string{b.dir, "/proc"}, systemDirs...)
	free = append(free, systemFiles...)
	for _, op := range accountOps() {
		free = append(free, op.Path)
	}
	for _, t := range b.o.Toolchains {
		free = append(free, t.Dirs...)
		for _, c := range t.Caches {
			free = append(free, c.Host)
		}
	}
	all := free
	for _, path := range free {
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			all = append(all, real)
		}
	}
	return all
}

// runProgram starts the program and follows it to its end.
func (b *observer) runProgram(ctx context.Context, prog *resolvedProgram, argv []string) (*Observation, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	s := newSpawnThread()
	defer s.close()
	h, spaces, err := b.launchHelper(ctx, s, null)
	if err != nil {
		return nil, err
	}
	defer h.close()
	if err := b.serveHosts(h); err != nil {
		h.discard()
		return nil, err
	}
	if b.direct != nil {
		defer b.direct.closePorts()
	}
	l, err := b.startProgram(h, spaces, null, prog, argv)
	if err != nil {
		h.discard()
		return nil, err
	}
	noted := make(chan struct{})
	go func() {
		defer close(noted)
		for {
			if _, err := l.Next(); err != nil {
				return
			}
		}
	}()
	out, err := b.awaitProgram(ctx, h, spaces)
	l.Close()
	<-noted
	if b.proxy != nil {
		b.proxy.Close()
	}
	return out, err
}

// launchHelper starts a helper in the namespaces that this machine gives. Root
// keeps its user namespace: in a new one it would lose what it may do to the
// files of others, and the program would be refused something.
func (b *observer) launchHelper(ctx context.Context, s *spawnThread, null *os.File) (*readyHelper, bool, error) {
	const spaces = syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	var errs []error
	for _, flags := range []uintptr{spaces, spaces | syscall.CLONE_NEWUSER, 0} {
		if flags == spaces && os.Geteuid() != 0 {
			continue
		}
		if b.o.bare && flags != 0 {
			errs = append(errs, errors.New("switched off"))
			continue
		}
		r := &Runner{platform: platform{self: "/proc/self/exe", null: null, spawner: s}}
		base := helper.Base{Namespaces: flags != 0, Listen: flags != 0, HostTree: true}
		m, err := newMessage(helper.MsgBase, &base)
		if err != nil {
			return nil, false, err
		}
		r.platform.base.shared = m
		h, err := r.startHelper(observeAttributes(flags), nil)
		if err == nil {
			h, err = h.awaitOrDiscard(ctx)
		}
		m.body.Close()
		if err == nil {
			b.blind = errors.Join(errs...)
			return h, flags != 0, nil
		}
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		errs = append(errs, err)
	}
	return nil, false, errors.Join(errs...)
}

// observeAttributes are the namespaces of an observed program. It stays in the
// session and group of this process, so that the terminal is its own, too;
// without a process namespace it needs a group that can be killed.
func observeAttributes(flags uintptr) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: flags, Setsid: flags == 0}
	if flags&syscall.CLONE_NEWUSER != 0 {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP}
	}
	return a
}

// serveHosts lets the program out to every host and notes which. A namespace of
// its own without a listener does not happen; neither gives hosts.
func (b *observer) serveHosts(h *readyHelper) error {
	if h.listener == nil {
		return nil
	}
	dial := &egress.DialOptions{Resolve: b.resolveHost}
	if n := b.o.Network; n != nil {
		dial.Dial, dial.RefuseAddress = n.Dial, n.RefuseAddress
	}
	var err error
	if b.proxy, err = egress.NewProxy(egress.AnyPolicy(b.o.AllowPrivate), dial, nil); err != nil {
		return err
	}
	b.direct = &directPorts{proxy: b.proxy}
	b.access.expectPeer = b.direct.expectConnection
	go func(l net.Listener) { _ = b.proxy.Serve(l) }(h.listener)
	return nil
}

// resolveHost looks a host up and notes whether its address is a private one.
func (b *observer) resolveHost(ctx context.Context, host string) ([]netip.Addr, error) {
	lookUp := func(ctx context.Context, host string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}
	if n := b.o.Network; n != nil && n.Resolve != nil {
		lookUp = n.Resolve
	}
	addrs, err := lookUp(ctx, host)
	for i, a := range addrs {
		addrs[i] = a.Unmap() // as package egress compares them
	}
	if slices.ContainsFunc(addrs, isPrivate) {
		b.private.Store(true)
	}
	return addrs, err
}

// privateLiteral is isPrivate for a host that is an address.
func privateLiteral(u sallyport.HostUse) bool {
	a, err := netip.ParseAddr(u.Host)
	return err == nil && isPrivate(a)
}

// isPrivate reports an address that only allow_private_urls lets through.
func isPrivate(a netip.Addr) bool { return egress.Floor(a, false) != "" && egress.Floor(a, true) == "" }

// startProgram turns the helper into the program and returns the listener of its
// calls.
func (b *observer) startProgram(h *readyHelper, spaces bool, null *os.File, prog *resolvedProgram, argv []string) (*seccomp.Listener, error) {
	filter, err := seccomp.Assemble(seccomp.Options{Watch: true})
	if err != nil {
		return nil, unavailableError("programs cannot be observed here", err)
	}
	spec := helper.Spec{
		Path: prog.path, Argv: append([]string{prog.name}, argv[1:]...), Dir: b.o.Workspace,
		Env:    b.runner.childEnv(b.o.Env, b.privateTmp(), b.privateHome(), b.proxy != nil, false),
		Filter: filter.Encode(), Notify: true,
		// In a user namespace there are capabilities to give up; the user
		// who started this never had them.
		DropCaps: os.Geteuid() != 0 && b.proxy != nil,
	}
	if b.direct != nil {
		if spec.Tree, err = b.coverNameFiles(); err != nil {
			return nil, err
		}
		spec.Direct = directWay(b.proxy)
		spec.Direct.Spare = observedPorts
	}
	m, err := newMessage(helper.MsgRun, &spec)
	if err != nil {
		return nil, err
	}
	defer m.body.Close()
	if err := m.send(h.control, cmp.Or(b.o.Stdin, null), cmp.Or(b.o.Stdout, null), cmp.Or(b.o.Stderr, null)); err != nil {
		return nil, err
	}
	_ = h.control.SetReadDeadline(time.Now().Add(helperWait))
	kind, text, fd, err := h.receiveMessage()
	if err == nil && kind == helper.MsgDirect && b.direct != nil {
		if b.direct.spare, err = h.serveDirect(b.proxy, text); err == nil {
			kind, text, fd, err = h.receiveMessage()
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("hand over: %w", err)
	case kind == helper.MsgFailed:
		return nil, errors.New(text)
	case kind != helper.MsgNotify || fd < 0:
		return nil, fmt.Errorf("the helper answered %q", string(kind))
	}
	l, err := seccomp.NewListener(fd)
	if err != nil {
		return nil, err
	}
	l.Before = b.access.recordEvent
	if spaces {
		l.Before = func(e *seccomp.Event) {
			if e.PID != h.proc.Pid { // the helper, which becomes the init
				b.access.recordEvent(e)
			}
		}
	}
	return l, nil
}
