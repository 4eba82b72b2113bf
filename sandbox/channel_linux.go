package sandbox

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
)

// channelGrace is how long what a child has sent is read after its end.
const channelGrace = time.Second

// openChannel makes the standard input of the child one end of a socket pair, and
// hands the other one over once it has the text of Stdin. What the child sends along
// beside bytes, such as descriptors, does not arrive: nothing here receives it.
func (c *childProcess) openChannel(o *sallyport.SpawnOptions) (theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "channel"), os.NewFile(uintptr(fds[1]), "channel")
	end, err := net.FileConn(ours)
	ours.Close()
	if err != nil {
		theirs.Close()
		return nil, err
	}
	// What the child has sent by its end can still be read: the channel ends behind it. A
	// child that could not be started ends it, too.
	c.atEnd(func() {
		_ = end.SetDeadline(time.Now().Add(channelGrace))
		time.AfterFunc(channelGrace, func() { end.Close() })
	})
	go func() {
		// A child that does not read is noticed by who uses the channel.
		_, _ = end.Write(o.Stdin)
		o.Channel(end)
	}()
	return theirs, nil
}
