package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// errMalformed is a stream of events that cannot be read further.
var errMalformed = errors.New("malformed event")

// sseEvent is one event of a stream.
type sseEvent struct {
	name, id string
	retry    time.Duration
	data     []byte
}

// sseReader reads server-sent events. An event has at most maxMessage bytes.
type sseReader struct{ r *bufio.Reader }

func newEvents(r io.Reader) *sseReader { return &sseReader{bufio.NewReader(r)} }

// nextEvent returns the next event. The error matches errMalformed, or is that of
// the stream.
func (s *sseReader) nextEvent() (e sseEvent, err error) {
	left, some := maxMessage, false
	for {
		line, err := s.readLine(left)
		if err != nil && !errors.Is(err, io.EOF) {
			return e, err
		}
		left -= len(line)
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > 0 {
			some = true
			if err := e.addLine(line); err != nil {
				return e, err
			}
		}
		switch {
		case len(line) == 0 && some, err != nil && some:
			return e, nil
		case err != nil:
			return e, err
		case len(line) == 0:
			left = maxMessage
		}
	}
}

// readLine reads a line including its end.
func (s *sseReader) readLine(most int) (line []byte, err error) {
	for {
		part, err := s.r.ReadSlice('\n')
		if len(line)+len(part) > most {
			return nil, errTooLong
		}
		if line == nil && err == nil {
			return part, nil // valid until the next read
		}
		if line = append(line, part...); !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (e *sseEvent) addLine(line []byte) error {
	key, value, found := bytes.Cut(line, []byte{':'})
	if !found {
		return fmt.Errorf("%w: a line without a colon", errMalformed)
	}
	switch string(key) {
	case "event":
		e.name = strings.TrimSpace(string(value))
	case "id":
		e.id = strings.TrimSpace(string(value))
	case "retry":
		if n, err := strconv.ParseInt(strings.TrimSpace(string(value)), 10, 64); err == nil {
			e.retry = time.Duration(n) * time.Millisecond
		}
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, bytes.TrimSpace(value)...)
	}
	return nil
}
