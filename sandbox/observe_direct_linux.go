package sandbox

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// observedPorts is how many ports an observed program may use that knows no proxy.
const observedPorts = 32

// probePort is the port to which programs "connect" over UDP in order to learn an
// address of their own (net/addrselect.go).
const probePort = 9

// directPorts listens on the ports of an observed program as it asks for them:
// nothing says beforehand which they are, and a server of the program's own may
// want any of them.
type directPorts struct {
	proxy *egress.Proxy

	mu     sync.Mutex
	spare  []*os.File
	opened map[uint16]bool
}

// expectConnection has something listen before the program connects to an address that
// stands for a name. It returns the name, empty for another address, and whether
// something listens there.
func (d *directPorts) expectConnection(to netip.AddrPort) (name string, listens bool) {
	name, ok := d.proxy.NameAt(to.Addr().Unmap())
	if !ok {
		return "", false
	}
	if port := to.Port(); port == 0 || port == probePort {
		return name, true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if listens, known := d.opened[to.Port()]; known || len(d.spare) == 0 {
		return name, listens
	}
	f := d.spare[0]
	d.spare = d.spare[1:]
	defer f.Close()
	err := listenOn(int(f.Fd()), to.Port())
	if err == nil {
		var l net.Listener
		if l, err = net.FileListener(f); err == nil {
			go func() { _ = d.proxy.ServeDirect(l) }()
		}
	}
	if d.opened == nil {
		d.opened = map[uint16]bool{}
	}
	d.opened[to.Port()] = err == nil
	return name, err == nil
}

// listenOn makes a socket of a version of IP a listener at every address.
func listenOn(fd int, port uint16) error {
	err := unix.Bind(fd, &unix.SockaddrInet6{Port: int(port)})
	if err == unix.EAFNOSUPPORT || err == unix.EINVAL {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: int(port)})
	}
	if err != nil {
		return err
	}
	return unix.Listen(fd, unix.SOMAXCONN)
}

// closePorts closes what was not needed.
func (d *directPorts) closePorts() {
	d.mu.Lock()
	defer d.mu.Unlock()
	closeAll(d.spare)
	d.spare = nil
}

// coverNameFiles returns the steps that lead the program to the resolver of the
// proxy, in the place of that of this machine.
func (b *observer) coverNameFiles() ([]helper.Op, error) {
	ops := nameOps(true)
	for i := range ops {
		ops[i].Do, ops[i].Source = helper.DoBind, filepath.Join(b.dir, filepath.Base(ops[i].Path))
		if err := os.WriteFile(ops[i].Source, ops[i].Data, 0o644); err != nil {
			return nil, err
		}
		ops[i].Data = nil
	}
	return ops, nil
}
