package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// receiveMessage waits for one message of the helper. At the end of the socket
// the kind is 0. The sockets of a MsgDirect it keeps.
func (h *readyHelper) receiveMessage() (kind byte, text string, fd int, err error) {
	buf, oob := make([]byte, 4096), make([]byte, unix.CmsgSpace(4*helper.MaxTrees))
	n, oobn, _, _, err := h.control.ReadMsgUnix(buf, oob)
	if errors.Is(err, unix.ECONNRESET) {
		// It ended with a message unread, which is told before what it said
		// (net/unix/af_unix.c: unix_release_sock).
		n, oobn, _, _, err = h.control.ReadMsgUnix(buf, oob)
	}
	if errors.Is(err, io.EOF) {
		return 0, "", -1, nil
	}
	if err != nil {
		return 0, "", -1, err
	}
	fd = -1
	if msgs, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(msgs) == 1 {
		fds, err := unix.ParseUnixRights(&msgs[0])
		for _, got := range fds {
			unix.CloseOnExec(got)
		}
		switch {
		case err == nil && n > 0 && buf[0] == helper.MsgDirect:
			h.direct = newFiles(fds)
		case err == nil && len(fds) == 1:
			fd = fds[0]
		}
	}
	return buf[0], string(buf[1:n]), fd, nil
}

func newFiles(fds []int) (files []*os.File) {
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "socket"))
	}
	return files
}

// helperMessage is something for a helper: a header that says what the memfd
// holds.
type helperMessage struct {
	header [helper.HeaderLen]byte
	body   *os.File
}

func newMessage(kind byte, v helper.Message) (m helperMessage, err error) {
	header, body := helper.Pack(kind, v)
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return m, os.NewSyscallError("memfd_create", err)
	}
	m = helperMessage{header, os.NewFile(uintptr(fd), "specification")}
	if _, err := m.body.Write(body); err != nil {
		m.body.Close()
		return m, err
	}
	return m, nil
}

// sendTrees hands over the mounts that the next message speaks of.
func sendTrees(c *net.UnixConn, trees []*os.File) error {
	for some := range slices.Chunk(trees, helper.MaxTrees) {
		fds := make([]int, len(some))
		for i, f := range some {
			fds[i] = int(f.Fd())
		}
		if _, _, err := c.WriteMsgUnix([]byte{helper.MsgTrees}, unix.UnixRights(fds...), nil); err != nil {
			return fmt.Errorf("helper: %w", err)
		}
	}
	runtime.KeepAlive(trees)
	return nil
}

// send hands the message over together with files.
func (m helperMessage) send(c *net.UnixConn, files ...*os.File) error {
	fds := make([]int, 0, len(files)+1)
	for _, f := range append([]*os.File{m.body}, files...) {
		fds = append(fds, int(f.Fd()))
	}
	_, _, err := c.WriteMsgUnix(m.header[:], unix.UnixRights(fds...), nil)
	runtime.KeepAlive(files)
	if err != nil {
		return fmt.Errorf("helper: %w", err)
	}
	return nil
}
