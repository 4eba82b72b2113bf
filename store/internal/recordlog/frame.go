package recordlog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"

	"github.com/sallyport/sallyport/audit"
)

// frameKind says what a frame is.
type frameKind byte

const (
	// frameRecord holds a record.
	frameRecord frameKind = iota + 1
	// frameStart begins a segment.
	frameStart
	// frameNext ends one: the log goes on in the next.
	frameNext
	// frameMark says how much is on the disk.
	frameMark
)

const (
	// frameHead is the size of a frame without texts.
	frameHead = 88
	// frameAlign is what sizes and places of frames are multiples of.
	frameAlign = 8
	// maxFrame bounds a frame: a record is evidence, of some megabytes at most.
	maxFrame = 16 << 20
	// frameEnd is what is written behind the newest frame.
	frameEnd = 8
	// frameFoot is the size of the word that ends a frame. It is not zero: a writer
	// that finds zeros before its place knows that what stood there was pruned.
	frameFoot = 4
	// bareFrame is the size of a frame without texts and with its padding.
	bareFrame = frameHead + frameAlign
	// frameMagic begins a word. No text in UTF-8 has these bytes.
	frameMagic = uint32(0xF7) | 'S'<<8 | 'R'<<16
)

// footWord ends each frame.
const footWord = frameMagic | 0xFF<<24

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errTooLarge is a record that no frame holds.
var errTooLarge = errors.New("the record is too large for the log")

// frame is a frame in memory. Texts of the record may alias what was read.
type frame struct {
	kind   frameKind
	size   int
	crc    uint32
	before uint32
	synced int64
	rec    audit.Record
}

// sizeOf returns the size of the frame of a record, with its padding.
func sizeOf(r *audit.Record) (int, error) {
	for _, s := range [...]string{string(r.Kind), r.Call, r.Tool, r.Principal} {
		if len(s) > math.MaxUint16 {
			return 0, errTooLarge
		}
	}
	n := frameHead + len(r.Kind) + len(r.Call) + len(r.Tool) + len(r.Principal) + len(r.Body)
	if n > maxFrame-2*frameAlign {
		return 0, errTooLarge
	}
	return (n + frameFoot + frameAlign - 1) &^ (frameAlign - 1), nil
}

// appendFrame appends a frame of the given size and returns its CRC, too.
func appendFrame(b []byte, f *frame) ([]byte, uint32) {
	le, r, at := binary.LittleEndian, &f.rec, len(b)
	b = le.AppendUint32(b, frameMagic|uint32(f.kind)<<24)
	b = le.AppendUint32(b, uint32(f.size))
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, f.before)
	b = le.AppendUint64(b, uint64(r.Seq))
	b = le.AppendUint64(b, uint64(r.Time))
	b = le.AppendUint64(b, uint64(f.synced))
	b = append(b, r.Hash[:]...)
	for _, s := range [...]string{string(r.Kind), r.Call, r.Tool, r.Principal} {
		b = le.AppendUint16(b, uint16(len(s)))
	}
	b = le.AppendUint32(b, uint32(len(r.Body)))
	denied := uint32(0)
	if r.Denied {
		denied = 1
	}
	b = le.AppendUint32(b, denied)
	b = append(append(append(append(b, r.Kind...), r.Call...), r.Tool...), r.Principal...)
	b = append(b, r.Body...)
	for len(b)-at < f.size-frameFoot {
		b = append(b, 0)
	}
	b = le.AppendUint32(b, footWord)
	crc := sumFrame(b[at:])
	le.PutUint32(b[at+8:], crc)
	return b, crc
}

func sumFrame(b []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, b[:8]), castagnoli, b[12:])
}

// wordSize returns the size that the first eight bytes of a frame name; it is 0
// when they do not begin a frame.
func wordSize(b []byte) int {
	word := binary.LittleEndian.Uint32(b)
	size := binary.LittleEndian.Uint32(b[4:])
	kind := frameKind(word >> 24)
	if word&0xFFFFFF != frameMagic || kind < frameRecord || kind > frameMark ||
		size < bareFrame || size > maxFrame || size%frameAlign != 0 {
		return 0
	}
	return int(size)
}

// parseFrame reads a frame, which b holds as a whole; ok is false when it does
// not pass.
func parseFrame(b []byte) (f frame, ok bool) {
	le := binary.LittleEndian
	if sumFrame(b) != le.Uint32(b[8:]) {
		return f, false
	}
	f.kind, f.size = frameKind(b[3]), len(b)
	f.crc, f.before = le.Uint32(b[8:]), le.Uint32(b[12:])
	f.rec.Seq, f.rec.Time = int64(le.Uint64(b[16:])), int64(le.Uint64(b[24:]))
	f.synced = int64(le.Uint64(b[32:]))
	copy(f.rec.Hash[:], b[40:72])
	f.rec.Denied = le.Uint32(b[84:]) != 0
	rest := b[frameHead : len(b)-frameFoot]
	take := func(n int) []byte {
		n = min(n, len(rest))
		part := rest[:n:n]
		rest = rest[n:]
		return part
	}
	f.rec.Kind = kindOf(take(int(le.Uint16(b[72:]))))
	f.rec.Call = string(take(int(le.Uint16(b[74:]))))
	f.rec.Tool = string(take(int(le.Uint16(b[76:]))))
	f.rec.Principal = string(take(int(le.Uint16(b[78:]))))
	f.rec.Body = take(int(min(le.Uint32(b[80:]), maxFrame)))
	return f, true
}

// kindOf saves the copy of a known word.
func kindOf(text []byte) audit.Kind {
	switch k := audit.Kind(text); k {
	case audit.KindIntent:
		return audit.KindIntent
	case audit.KindOutcome:
		return audit.KindOutcome
	default:
		return k
	}
}
