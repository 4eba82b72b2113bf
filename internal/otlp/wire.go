package otlp

import (
	"encoding/binary"
	"math"
	"slices"
)

// field is the number of a field of a message.
type field uint64

// The wire types of protocol buffers.
const (
	typeVarint  = 0
	typeFixed64 = 1
	typeBytes   = 2
	typeFixed32 = 5
)

// maxVarint is the longest varint, in bytes.
const maxVarint = 10

func (f field) appendTag(b []byte, kind uint64) []byte {
	return binary.AppendUvarint(b, uint64(f)<<3|kind)
}

func (f field) appendNumber(b []byte, n uint64) []byte {
	return binary.AppendUvarint(f.appendTag(b, typeVarint), n)
}

func (f field) appendFixed(b []byte, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(f.appendTag(b, typeFixed64), n)
}

func (f field) appendFlags(b []byte, n uint32) []byte {
	return binary.LittleEndian.AppendUint32(f.appendTag(b, typeFixed32), n)
}

func (f field) appendDouble(b []byte, v float64) []byte { return f.appendFixed(b, math.Float64bits(v)) }

func (f field) appendBytes(b, v []byte) []byte {
	return append(binary.AppendUvarint(f.appendTag(b, typeBytes), uint64(len(v))), v...)
}

// appendText leaves an empty text out.
func (f field) appendText(b []byte, s string) []byte {
	if s == "" {
		return b
	}
	return append(binary.AppendUvarint(f.appendTag(b, typeBytes), uint64(len(s))), s...)
}

// appendMessage appends a message that fill appends the fields of.
func (f field) appendMessage(b []byte, fill func([]byte) []byte) []byte {
	b = f.appendTag(b, typeBytes)
	at := len(b)
	b = fill(b)
	// The length stands in front of the message and is known now.
	var length [maxVarint]byte
	return slices.Insert(b, at, binary.AppendUvarint(length[:0], uint64(len(b)-at))...)
}
