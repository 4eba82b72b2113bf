package main

import (
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

var networkAttacks = []attack{
	{"TCP to the host", func(t *Target) (string, error) { return dial("tcp4", "127.0.0.1:"+strconv.Itoa(t.TCP)) }},
	{"MPTCP to the host", func(t *Target) (string, error) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		if err != nil {
			return "", err
		}
		if err := unix.Connect(fd, loopback(t.TCP)); err != nil {
			return "", err
		}
		return readFD(fd)
	}},
	{"TCP fast open to the host", func(t *Target) (string, error) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return "", err
		}
		if err := unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, loopback(t.TCP)); err != nil {
			return "", err
		}
		return readFD(fd)
	}},
	{"UDP to the host", func(t *Target) (string, error) {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return "", err
		}
		if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
			return "", err
		}
		// Not with sendto, whose destination the filter sees.
		if err := unix.Connect(fd, loopback(t.UDP)); err != nil {
			return "", err
		}
		if _, err := unix.Write(fd, []byte("x")); err != nil {
			return "", err
		}
		return readFD(fd)
	}},
	{"raw socket", func(*Target) (string, error) { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
	{"packet socket", func(*Target) (string, error) { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
	{"netlink socket", func(*Target) (string, error) { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) }},
	{"vsock socket", func(*Target) (string, error) { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	{"unix socket outside", func(t *Target) (string, error) { return dial("unix", t.outside("socket")) }},
	{"unix socket in reach", func(t *Target) (string, error) { return dial("unix", t.ws("socket")) }},
	{"abstract unix socket", func(t *Target) (string, error) { return dial("unix", "@"+t.Abstract) }},
}

func loopback(port int) unix.Sockaddr {
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
}

func socket(family, kind, protocol int) (string, error) {
	_, err := unix.Socket(family, kind, protocol)
	return "the kernel made it", err
}

func readFD(fd int) (string, error) {
	buf := make([]byte, 64)
	n, err := unix.Read(fd, buf)
	return holds(buf[:max(n, 0)], err)
}

func dial(network, address string) (string, error) {
	c, err := net.DialTimeout(network, address, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	buf := make([]byte, 64)
	n, err := c.Read(buf)
	return holds(buf[:n], err)
}
