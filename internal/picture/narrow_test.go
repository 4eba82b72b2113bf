package picture

import (
	"bytes"
	"runtime"
	"slices"
	"testing"
)

// narrowJPEG returns a progressive JPEG of 1 x 65535 pixels whose units have 32 x 16.
func narrowJPEG() []byte {
	segment := func(mark byte, body ...byte) []byte {
		n := len(body) + 2
		return append([]byte{0xff, mark, byte(n >> 8), byte(n)}, body...)
	}
	scan := func(component byte) []byte { // 8192 units, of one bit
		return append(segment(0xda, 1, component, 0, 0, 0, 0), make([]byte, 8192/8+1)...)
	}
	return slices.Concat([]byte{0xff, 0xd8}, segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...),
		segment(0xc2, 8, 0xff, 0xff, 0, 1, 3, 1, 0x42, 0, 2, 0x42, 0, 3, 0x42, 0),
		segment(0xc4, append([]byte{0, 1}, make([]byte, 16)...)...), // one code of one bit, for 0
		scan(1), scan(2), scan(3), []byte{0xff, 0xd9})
}

// An edge of one pixel is held as one of whole units.
func TestANarrowPictureIsCountedAsItIsHeld(t *testing.T) {
	data := narrowJPEG()
	f, ok := formOf(data)
	if !ok {
		t.Fatal("it is no JPEG")
	}
	cost, err := f.checkHead(t.Context(), data, 0)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = f.decodePixels(t.Context(), data)
	runtime.ReadMemStats(&after)
	if took := int64(after.TotalAlloc - before.TotalAlloc); took > cost || took < cost/20 {
		t.Errorf("it took %d bytes (%v), and was counted as %d", took, err, cost)
	}
}
