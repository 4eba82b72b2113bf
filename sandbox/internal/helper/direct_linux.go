package helper

import (
	"errors"
	"syscall"
	"unsafe"
)

// openDirect makes the ways out for programs that know no proxy: addresses that
// are local to this network namespace, the sockets of the resolver and one
// listener for each port. The runtime gets the sockets. They belong to this
// namespace, so that nothing but this child reaches them.
func (d *Direct) openDirect() error {
	if d == nil {
		return nil
	}
	v6, err := d.addRoutes()
	if err != nil {
		return err
	}
	sockets, err := d.openSockets()
	if err != nil {
		return err
	}
	text := []byte{MsgDirect}
	if v6 {
		text = append(text, DirectIPv6...)
	}
	err = syscall.Sendmsg(ControlFD, text, syscall.UnixRights(sockets...), nil, syscall.MSG_NOSIGNAL)
	for _, fd := range sockets {
		syscall.Close(fd)
	}
	return wrapError("control socket", err)
}

// openSockets opens the sockets in the order of MsgDirect. Those that were opened
// before a fault end with this process.
func (d *Direct) openSockets() ([]int, error) {
	var sockets []int
	for _, kind := range []int{syscall.SOCK_DGRAM, syscall.SOCK_STREAM} {
		fd, err := openSocket(syscall.AF_INET, kind, &syscall.SockaddrInet4{Port: NamesPort, Addr: loopback})
		if err != nil {
			return nil, wrapError("resolver", err)
		}
		sockets = append(sockets, fd)
	}
	for _, port := range d.Ports {
		fd, err := listenEverywhere(port)
		if err != nil {
			return nil, wrapError("listener of port "+formatDecimal(int64(port)), err)
		}
		sockets = append(sockets, fd)
	}
	for range d.Spare {
		fd, err := openSpare()
		if err != nil {
			return nil, wrapError("spare socket", err)
		}
		sockets = append(sockets, fd)
	}
	return sockets, nil
}

// openSpare opens a socket that may become a listener at every address.
func openSpare() (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == syscall.EAFNOSUPPORT {
		return syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	}
	if err != nil {
		return -1, err
	}
	if err := syscall.SetsockoptInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 0); err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// loopback is the address of the resolver.
var loopback = [4]byte{127, 0, 0, 1}

// openSocket opens a socket at an address; one of a stream listens.
func openSocket(family, kind int, at syscall.Sockaddr) (int, error) {
	fd, err := syscall.Socket(family, kind|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if family == syscall.AF_INET6 {
		err = syscall.SetsockoptInt(fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 0)
	}
	if err == nil {
		err = syscall.Bind(fd, at)
	}
	if err == nil && kind == syscall.SOCK_STREAM {
		err = syscall.Listen(fd, backlog)
	}
	if err != nil {
		syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// listenEverywhere listens on a port at all addresses of the namespace, of both
// versions where the kernel has both.
func listenEverywhere(port int) (int, error) {
	fd, err := openSocket(syscall.AF_INET6, syscall.SOCK_STREAM, &syscall.SockaddrInet6{Port: port})
	if err == syscall.EAFNOSUPPORT {
		return openSocket(syscall.AF_INET, syscall.SOCK_STREAM, &syscall.SockaddrInet4{Port: port})
	}
	return fd, err
}

// addRoutes makes the ranges local. A kernel without IPv6 leaves out its own,
// which v6 tells.
func (d *Direct) addRoutes() (v6 bool, err error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return false, wrapError("routes", err)
	}
	defer syscall.Close(fd)
	v6 = true
	for _, r := range d.Ranges {
		err := addLocalRoute(fd, &r)
		switch {
		case err == nil:
		case len(r.Addr) == 16:
			v6 = false
		default:
			return false, wrapError("route", err)
		}
	}
	return v6, nil
}

// Numbers of the loopback interface, which a namespace makes first, and of
// rtnetlink(7).
const (
	loopbackIndex = 1

	routeLen     = 28 // nlmsghdr and rtmsg
	attrLen      = 4
	errorMessage = 2 // NLMSG_ERROR
)

// addLocalRoute has the kernel take what goes to a range for its own, as
// "ip route add local RANGE dev lo" does.
func addLocalRoute(fd int, r *Range) error {
	family := byte(syscall.AF_INET)
	if len(r.Addr) == 16 {
		family = syscall.AF_INET6
	}
	b := make([]byte, routeLen, 64)
	b[16], b[17] = family, byte(r.Bits)
	b[20], b[21], b[22], b[23] = syscall.RT_TABLE_LOCAL, syscall.RTPROT_BOOT, syscall.RT_SCOPE_HOST, syscall.RTN_LOCAL
	b = appendAttribute(b, syscall.RTA_DST, r.Addr)
	index := uint32(loopbackIndex)
	b = appendAttribute(b, syscall.RTA_OIF, (*[4]byte)(unsafe.Pointer(&index))[:])
	*(*uint32)(unsafe.Pointer(&b[0])) = uint32(len(b))
	*(*uint16)(unsafe.Pointer(&b[4])) = syscall.RTM_NEWROUTE
	*(*uint16)(unsafe.Pointer(&b[6])) = syscall.NLM_F_REQUEST | syscall.NLM_F_ACK | syscall.NLM_F_CREATE | syscall.NLM_F_EXCL
	if err := syscall.Sendto(fd, b, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n < 20 || *(*uint16)(unsafe.Pointer(&answer[4])) != errorMessage {
		return errors.New("the kernel's answer cannot be read")
	}
	return errnoError(syscall.Errno(-*(*int32)(unsafe.Pointer(&answer[16]))))
}

// appendAttribute adds an attribute of rtnetlink whose length is a multiple of 4.
func appendAttribute(b []byte, kind uint16, value []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, attrLen)...)
	*(*uint16)(unsafe.Pointer(&b[at])) = uint16(attrLen + len(value))
	*(*uint16)(unsafe.Pointer(&b[at+2])) = kind
	return append(b, value...)
}
