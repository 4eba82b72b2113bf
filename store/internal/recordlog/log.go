package recordlog

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"
)

const (
	lockName    = "lock"
	idSize      = 16
	defaultBusy = 5 * time.Second
	// keepBuffer is how large a buffer may be to be used again, in bytes.
	keepBuffer = 1 << 20
)

// ID names a log, so that no other is taken for it.
type ID [idSize]byte

// NewID returns the name of a new log.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // which does not fail
	return id
}

// MarshalText writes the id in hex.
func (id ID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(idSize) {
		return errors.New("recordlog: an id has 32 digits")
	}
	_, err := hex.Decode(id[:], text)
	return err
}

// Position is a place in a log: later records stand at greater ones. The zero
// Position is none.
type Position int64

func placeAt(segment, offset int64) Position { return Position(segment<<32 | offset) }

func (p Position) segment() int64 { return int64(p >> 32) }
func (p Position) offset() int64  { return int64(p) & 0xFFFFFFFF }

// Options refine a Log. nil means the defaults.
type Options struct {
	// Busy is how long a writer waits for another process; 0 means 5 seconds.
	Busy time.Duration
	// MaxBytes bounds all segments together; 0 means no bound but the disk's.
	MaxBytes int64

	// first and largest are sizes of segments for tests; 0 means the constants.
	first, largest int64
	// filling is called by tests when a full segment is written and not yet on
	// the disk.
	filling func()
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	d.Busy = cmp.Or(d.Busy, defaultBusy)
	d.first, d.largest = cmp.Or(d.first, firstSegment), cmp.Or(d.largest, largestSegment)
	return d
}

