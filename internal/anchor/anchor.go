// Package anchor keeps heads of the record in places that the operator of the gate cannot
// rewrite, and compares a record with them.
//
// Start with [Entry], a line of such a place, and [Check], which compares.
package anchor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sallyport/sallyport/audit"
)

const (
	// maxLine bounds a line, and maxLines how many are written and read: one every minute
	// for a year is half of that.
	maxLine, maxLines = 4 << 10, 1 << 20
)

// Entry is a head of the record at a moment: a line of a file, or the body of a request.
type Entry struct {
	// Seq and Hash are those of the newest record.
	Seq int64 `json:"seq"`
	// Hash is in hex, as audit head prints it.
	Hash audit.Hash `json:"hash"`
	// Time is when it was the newest one, by the clock of the gate.
	Time time.Time `json:"time"`
	// KeyID names the key of the chain.
	KeyID string `json:"key_id"`

	// reworded: the line that was read is not the one that encodeLine returns.
	reworded bool
}

// NewEntry returns the entry for a head.
func NewEntry(h audit.Head, keyID string, now time.Time) Entry {
	return Entry{Seq: h.Seq, Hash: h.Hash, Time: now.UTC().Truncate(time.Second), KeyID: keyID}
}

// Head returns the head that the entry keeps.
func (e *Entry) Head() audit.Head { return audit.Head{Seq: e.Seq, Hash: e.Hash} }

// StampedText returns what an authority puts its time under: what audit head prints, with the
// end of the line, so that other programs can check it.
func (e *Entry) StampedText() []byte { return []byte(e.Head().String() + "\n") }

// encodeLine returns the entry as a line of JSON.
func (e *Entry) encodeLine() ([]byte, error) {
	line, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("anchor: %w", err)
	}
	return append(line, '\n'), nil
}

// ReadEntries reads the lines of a file of anchors. The error names the line that is none.
func ReadEntries(r io.Reader) ([]Entry, error) {
	var list []Entry
	lines := scanLines(r)
	for n := 1; lines.Scan(); n++ {
		if n > maxLines {
			return nil, fmt.Errorf("line %d: expected at most %d lines", n, maxLines)
		}
		e, err := parseEntry(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, e)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", len(list)+1, err)
	}
	return list, nil
}

// scanLines reads lines of at most maxLine bytes without their ends. A carriage return is part
// of its line.
func scanLines(r io.Reader) *bufio.Scanner {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	lines.Split(func(data []byte, atEnd bool) (advance int, line []byte, err error) {
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			return end + 1, data[:end], nil
		}
		if atEnd && len(data) > 0 {
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	return lines
}

func parseEntry(line []byte) (Entry, error) {
	var e Entry
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, fmt.Errorf("not an anchor: %w", err)
	}
	switch rest, err := io.ReadAll(d.Buffered()); {
	case err != nil || strings.TrimSpace(string(rest)) != "":
		return e, errors.New("not an anchor: text follows the object")
	case e.Seq < 1 || e.Hash == (audit.Hash{}) || e.KeyID == "" || e.Time.IsZero():
		return e, errors.New("not an anchor: expected seq, hash, time and key_id")
	}
	written, err := e.encodeLine()
	e.reworded = !bytes.Equal(bytes.TrimSuffix(written, []byte("\n")), line)
	return e, err
}
