package egress

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/netip"

	"github.com/sallyport/sallyport/internal/reach"
)

// Numbers of SOCKS5 (RFC 1928) and its password method (RFC 1929).
const (
	socksVersion = 5

	socksNoAuth       = 0
	socksPassword     = 2
	socksNoMethod     = 0xff
	socksPasswordForm = 1

	socksConnect = 1

	socksIPv4 = 1
	socksName = 3
	socksIPv6 = 4

	socksDone        = 0
	socksFailed      = 1
	socksRefused     = 2
	socksUnreachable = 4
	socksNoCommand   = 7
	socksNoAddress   = 8
)

var errSOCKS = errors.New("not SOCKS5")

// serveSOCKS serves one SOCKS5 connection. Names are resolved here, after the
// decision; a client that resolves itself has nothing to ask.
func (p *Proxy) serveSOCKS(ctx context.Context, cancel context.CancelFunc, c *childConn) {
	if socksGreeting(c) != nil {
		return
	}
	host, port, code, err := socksRequest(c.r)
	switch {
	case err != nil:
		return
	case code != socksDone:
		if code == socksRefused {
			p.uses.recordMalformed(badHost(host, nil))
		}
		socksReply(c, code)
		c.awaitLastRead()
		return
	}
	t, err := p.openTunnel(ctx, host, port)
	if err != nil {
		socksReply(c, socksCode(err))
		c.awaitLastRead()
		return
	}
	defer t.close()
	if socksReply(c, socksDone) == nil {
		p.relayTunnel(ctx, cancel, c, t)
	}
}

// socksGreeting agrees on a method. The listener tells who the child is, so
// that a password proves nothing; clients that insist on sending one may.
func socksGreeting(c *childConn) error {
	b, err := readBytes(c.r, 2)
	if err != nil {
		return err
	}
	methods, err := readBytes(c.r, int(b[1]))
	if err != nil {
		return err
	}
	switch {
	case bytes.IndexByte(methods, socksNoAuth) >= 0:
		_, err = c.Write([]byte{socksVersion, socksNoAuth})
		return err
	case bytes.IndexByte(methods, socksPassword) < 0:
		c.Write([]byte{socksVersion, socksNoMethod})
		c.awaitLastRead()
		return errSOCKS
	}
	if _, err := c.Write([]byte{socksVersion, socksPassword}); err != nil {
		return err
	}
	if b, err = readBytes(c.r, 2); err != nil || b[0] != socksPasswordForm {
		return errSOCKS
	}
	if b, err = readBytes(c.r, int(b[1])+1); err != nil { // the name, and a length
		return err
	}
	if _, err = readBytes(c.r, int(b[len(b)-1])); err != nil {
		return err
	}
	_, err = c.Write([]byte{socksPasswordForm, 0})
	return err
}

// socksRequest reads what is asked for. The code is socksDone when host and
// port are in canonical form; with socksRefused the host is as it came.
func socksRequest(r io.Reader) (host string, port uint16, code byte, err error) {
	b, err := readBytes(r, 4)
	if err != nil {
		return "", 0, 0, err
	}
	if b[0] != socksVersion || b[2] != 0 {
		return "", 0, 0, errSOCKS
	}
	if b[1] != socksConnect {
		return "", 0, socksNoCommand, nil
	}
	if host, code, err = socksHost(r, b[3]); err != nil || code != socksDone {
		return host, 0, code, err
	}
	if b, err = readBytes(r, 2); err != nil {
		return "", 0, 0, err
	}
	if port = binary.BigEndian.Uint16(b); port == 0 {
		return "", 0, socksFailed, nil
	}
	name, bad := reach.CanonicalHost(host)
	if bad != nil {
		return host, port, socksRefused, nil
	}
	return name, port, socksDone, nil
}

func socksHost(r io.Reader, kind byte) (string, byte, error) {
	size := 0
	switch kind {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksName:
		n, err := readBytes(r, 1)
		if err != nil {
			return "", 0, err
		}
		size = int(n[0])
	default:
		return "", socksNoAddress, nil
	}
	b, err := readBytes(r, size)
	if err != nil || kind == socksName {
		return string(b), socksDone, err
	}
	a, _ := netip.AddrFromSlice(b)
	return a.String(), socksDone, nil
}

func readBytes(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// socksReply answers without the bound address, which no client needs.
func socksReply(w io.Writer, code byte) error {
	_, err := w.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err
}

// socksCode spells an error of [Proxy.openTunnel].
func socksCode(err error) byte {
	if status, _ := explainError("", err); status == http.StatusForbidden {
		return socksRefused
	}
	return socksUnreachable
}
