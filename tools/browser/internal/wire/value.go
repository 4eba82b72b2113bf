// Package wire reads and writes the binary form of the messages of the DevTools protocol:
// the part of CBOR that Chromium writes. Each object and each list says how long it is, so
// that what is not asked for is passed over without being looked at.
//
// What is read was written by a browser that pages may have taken over: anything else than
// that form is an error, and nothing is read beyond the item that it belongs to.
package wire

import (
	"encoding/binary"
	"errors"
	"iter"
	"unicode/utf16"
	"unicode/utf8"
)

// The first bytes of items (RFC 8949). An object or a list stands in an envelope, which is
// an encoded item with a length of four bytes, and has no length itself.
const (
	envelope    = "\xd8\x18\x5a"
	objectStart = 0xbf
	listStart   = 0x9f
	stop        = 0xff
	bytesTag    = 0xd6 // bytes that are base64 in JSON
	double      = 0xfb
	isFalse     = 0xf4
	isTrue      = 0xf5
	isNull      = 0xf6
)

// The kinds of items that say a number in their head.
const (
	kindNumber = iota
	kindNegative
	kindBytes // UTF-16, or bytes behind bytesTag
	kindText
)

// HeadBytes is how much of a message says how long it is.
const HeadBytes = len(envelope) + 4

var errForm = errors.New("it is not in the form of the protocol")

// MessageLen returns the length in bytes of the message that begins with a head of HeadBytes.
// The error is that no message begins so.
func MessageLen(head []byte) (int64, error) {
	if len(head) < HeadBytes || string(head[:len(envelope)]) != envelope {
		return 0, errForm
	}
	const least = len("\xbf\xff")
	if n := binary.BigEndian.Uint32(head[len(envelope):]); n >= uint32(least) {
		return int64(HeadBytes) + int64(n), nil
	}
	return 0, errForm
}

// AnswerID returns the number of an answer, of which the beginning is enough. An event has
// none.
func AnswerID(message []byte) (id int64, ok bool) {
	const first = "\xbf\x62id"
	if len(message) < HeadBytes+len(first) || string(message[HeadBytes:HeadBytes+len(first)]) != first {
		return 0, false
	}
	return Value(message[HeadBytes+len(first):]).Number()
}

// Value is one item: a whole message, or a part of one, which shares its bytes. What it holds
// is checked when it is asked for.
type Value []byte

// cutItem returns the item that a text begins with, and what stands behind it.
func cutItem(text []byte) (item Value, rest []byte, err error) {
	n := itemLen(text)
	if n <= 0 || n > int64(len(text)) {
		return nil, nil, errForm
	}
	return Value(text[:n:n]), text[n:], nil
}

// itemLen returns the length of the item that a text begins with, 0 where that is none. The
// item may be longer than the text.
func itemLen(text []byte) int64 {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case isFalse, isTrue, isNull:
		return 1
	case double:
		return 9
	case envelope[0]:
		n, _ := MessageLen(text)
		return n
	case bytesTag:
		kind, length, head := readHead(text[1:])
		if head == 0 || kind != kindBytes {
			return 0
		}
		return 1 + int64(head) + length
	}
	switch kind, n, head := readHead(text); {
	case head == 0:
		return 0
	case kind <= kindNegative:
		return int64(head)
	default:
		return int64(head) + n
	}
}

// readHead reads the kind and the number that an item begins with, and returns the length
// of both, 0 where there are none. A number has up to 32 bits.
func readHead(text []byte) (kind byte, n int64, head int) {
	if len(text) == 0 || text[0]>>5 > kindText {
		return 0, 0, 0
	}
	kind = text[0] >> 5
	switch size := text[0] & 31; {
	case size < 24:
		return kind, int64(size), 1
	case size == 24 && len(text) >= 2:
		return kind, int64(text[1]), 2
	case size == 25 && len(text) >= 3:
		return kind, int64(binary.BigEndian.Uint16(text[1:])), 3
	case size == 26 && len(text) >= 5:
		return kind, int64(binary.BigEndian.Uint32(text[1:])), 5
	default:
		return 0, 0, 0
	}
}

// itemsBehind returns what is in an object or in a list.
func (v Value) itemsBehind(start byte) ([]byte, error) {
	n, err := MessageLen(v)
	if err != nil || n != int64(len(v)) || v[HeadBytes] != start || v[n-1] != stop {
		return nil, errForm
	}
	return v[HeadBytes+1 : n-1], nil
}

// Member is a member of an object.
type Member struct {
	// Key is a text.
	Key Value
	// Value is any item.
	Value Value
}

// Is reports whether a member has a name of ASCII. Chromium writes none as UTF-16.
func (m *Member) Is(name string) bool { return string(m.Key.UTF8()) == name }

// Members yields the members of an object, and at last an error when one cannot be read, or
// when it is no object.
func (v Value) Members() iter.Seq2[Member, error] {
	return func(yield func(Member, error) bool) {
		var m Member
		for rest, err := v.itemsBehind(objectStart); err != nil || len(rest) > 0; {
			if err == nil {
				m.Key, rest, err = cutItem(rest)
			}
			if err == nil && !m.Key.isText() {
				err = errForm
			}
			if err == nil {
				m.Value, rest, err = cutItem(rest)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// Items yields the items of a list, and at last an error when one cannot be read, or when it
// is no list.
func (v Value) Items() iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		var item Value
		for rest, err := v.itemsBehind(listStart); err != nil || len(rest) > 0; {
			if err == nil {
				item, rest, err = cutItem(rest)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

func (v Value) isText() bool {
	kind, n, head := readHead(v)
	return int64(head)+n == int64(len(v)) && (kind == kindText || kind == kindBytes && n%2 == 0)
}

// UTF8 returns a text that is written so, as it is there, and else nothing.
func (v Value) UTF8() []byte {
	kind, n, head := readHead(v)
	if kind != kindText || int64(head)+n != int64(len(v)) {
		return nil
	}
	return v[head:]
}

// Text returns a text. What is no Unicode in it becomes U+FFFD, as encoding/json has it.
func (v Value) Text() (s string, ok bool) {
	if !v.isText() {
		return "", false
	}
	kind, _, head := readHead(v)
	switch {
	case kind == kindBytes:
		return string(utf16.Decode(unitsOf(v[head:]))), true
	case utf8.Valid(v[head:]):
		return string(v[head:]), true
	default:
		return string([]rune(string(v[head:]))), true
	}
}

// unitsOf returns the units of UTF-16, in the order of bytes that Chromium has.
func unitsOf(text []byte) []uint16 {
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(text[2*i:])
	}
	return units
}

// Number returns a whole number. ok is false for a double, also a whole one.
func (v Value) Number() (n int64, ok bool) {
	kind, n, head := readHead(v)
	switch {
	case head == 0 || kind > kindNegative:
		return 0, false
	case kind == kindNegative:
		return -1 - n, true
	default:
		return n, true
	}
}

// Truth returns a truth value.
func (v Value) Truth() (truth, ok bool) {
	if len(v) != 1 || v[0] != isTrue && v[0] != isFalse {
		return false, false
	}
	return v[0] == isTrue, true
}
