package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// Files in which programs find out how names are looked up.
const (
	switchFile   = "/etc/nsswitch.conf"
	resolverFile = "/etc/resolv.conf"
)

// nameOps returns the steps that lead programs to the resolver of a child with a
// network, and that of others to no resolver. They come before the reach, which
// may cover them.
func nameOps(network bool) []helper.Op {
	file := func(path, text string) helper.Op {
		return helper.Op{Do: helper.DoFile, Path: path, Data: []byte(text), Mode: 0o644}
	}
	if !network {
		return []helper.Op{file(switchFile, "passwd: files\ngroup: files\nhosts: files\n")}
	}
	return []helper.Op{
		file(switchFile, "passwd: files\ngroup: files\nhosts: files dns\n"),
		file(resolverFile, "nameserver 127.0.0.1\n"),
	}
}

// directWay returns the way out for programs that know no proxy. What the proxy
// and the resolver listen on goes only by the proxy.
func directWay(proxy *egress.Proxy) *helper.Direct {
	if proxy == nil {
		return nil
	}
	d := &helper.Direct{}
	for _, p := range proxy.DirectRanges() {
		d.Ranges = append(d.Ranges, helper.Range{Addr: p.Addr().AsSlice(), Bits: p.Bits()})
	}
	for _, port := range proxy.DirectPorts() {
		if !slices.Contains([]uint16{helper.ProxyPort, helper.NamesPort}, port) {
			d.Ports = append(d.Ports, int(port))
		}
	}
	return d
}

// serveDirect has the proxy serve the sockets of directWay, which have come with a
// text. It returns the spare ones.
func (h *readyHelper) serveDirect(proxy *egress.Proxy, text string) (spare []*os.File, err error) {
	sockets := h.direct
	h.direct = nil
	served := min(len(sockets), 2+len(directWay(proxy).Ports))
	defer closeAll(sockets[:served])
	if served < 2 {
		return nil, errors.New("the helper brings too few sockets")
	}
	if text == helper.DirectIPv6 {
		proxy.GiveIPv6()
	}
	names, err := net.FilePacketConn(sockets[0])
	if err != nil {
		return nil, fmt.Errorf("resolver: %w", err)
	}
	go func() { _ = proxy.ServeNames(names) }()
	for i, f := range sockets[1:served] {
		l, err := net.FileListener(f)
		if err != nil {
			return nil, fmt.Errorf("listener: %w", err)
		}
		serve := proxy.ServeDirect
		if i == 0 {
			serve = proxy.ServeNamesTCP
		}
		go func() { _ = serve(l) }()
	}
	return sockets[served:], nil
}
