package sandbox

import (
	"io"
	"os"
	"sync"
	"time"
)

const (
	defaultOutput = 1 << 20
	// readSize is the size of one read: what a pipe holds by default.
	readSize = 64 << 10
)

var readBuffers = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}

// outputCapture reads one stream of a child until its end. It never stops
// reading, so that a child that prints too much is bounded and not blocked.
type outputCapture struct {
	mu      sync.Mutex
	ended   bool
	kept    []byte
	max     int64
	dropped int64
	sink    io.Writer
	before  func() // is called before something is handed to sink, unless it is nil
	broken  bool
	done    chan struct{}
	file    *os.File // set before readAll
}

// readAll reads until the last process that holds the other end is gone.
func (c *outputCapture) readAll() {
	defer c.end()
	f := c.file
	defer f.Close()
	buf := readBuffers.Get().(*[]byte)
	defer readBuffers.Put(buf)
	for {
		n, err := f.Read(*buf)
		if n > 0 {
			c.addOutput((*buf)[:n])
		}
		if err != nil {
			return
		}
	}
}

// end hands over what there is. Nothing is added any more.
func (c *outputCapture) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		close(c.done)
	}
}

// cutOff ends the stream although a process holds the other end.
func (c *outputCapture) cutOff() {
	c.end()
	if c.file != nil {
		// Where pipes have no deadline, the reader stays with the writer.
		_ = c.file.SetReadDeadline(time.Unix(1, 0))
	}
}

func (c *outputCapture) addOutput(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	if c.sink != nil {
		if c.before != nil {
			c.before()
		}
		if c.broken {
			c.dropped += int64(len(p))
		} else if n, err := c.sink.Write(p); err != nil {
			c.broken = true
			c.dropped += int64(len(p) - max(min(n, len(p)), 0))
		}
		return
	}
	if room := c.max - int64(len(c.kept)); int64(len(p)) > room {
		c.dropped += int64(len(p)) - room
		p = p[:room]
	}
	c.kept = append(c.kept, p...)
}
