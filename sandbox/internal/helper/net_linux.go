package helper

import (
	"syscall"
	"unsafe"
)

// backlog is how many connections may wait for the proxy.
const backlog = 128

// listenProxy opens the port of the proxy on loopback. The listener belongs to
// this network namespace wherever it is accepted on, so nothing but this child
// reaches it.
func listenProxy() (int, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, wrapError("proxy listener", err)
	}
	addr := &syscall.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}}
	if err := syscall.Bind(fd, addr); err != nil {
		return -1, wrapError("proxy listener", err)
	}
	if err := syscall.Listen(fd, backlog); err != nil {
		return -1, wrapError("proxy listener", err)
	}
	return fd, nil
}

// loopbackUp lets the child talk to itself, as tests and development servers
// do. There is no other interface and no route.
func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	// struct ifreq of linux/if.h: a name of 16 bytes, a union that begins with
	// the flags.
	req := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&req)))
	return errnoError(errno)
}
