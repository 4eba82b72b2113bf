package recordlog

import (
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

