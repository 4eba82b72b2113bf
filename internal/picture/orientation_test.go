package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"slices"
	"strings"
	"testing"
)

// exifOf returns metadata with an orientation behind an entry of another tag.
func exifOf(order binary.AppendByteOrder, value uint16) []byte {
	mark := "MM"
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		mark = "II"
	}
	b := order.AppendUint32(order.AppendUint16([]byte(mark), 42), 8)
	b = order.AppendUint16(b, 2)
	for tag, v := range map[uint16]uint16{0x0100: 5, 0x0112: value} {
		b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, tag), 3), 1)
		b = order.AppendUint16(order.AppendUint16(b, v), 0)
	}
	return order.AppendUint32(b, 0)
}

// TestAPictureStandsAsItsMetadataSays turns a picture of 3 x 2 pixels, of which the last
// one is dark, and looks for that pixel.
func TestAPictureStandsAsItsMetadataSays(t *testing.T) {
	t.Parallel()
	for value, want := range map[uint16]struct{ size, dark image.Point }{
		0: {image.Pt(3, 2), image.Pt(2, 1)}, 9: {image.Pt(3, 2), image.Pt(2, 1)}, 262: {image.Pt(3, 2), image.Pt(2, 1)},
		1: {image.Pt(3, 2), image.Pt(2, 1)}, 2: {image.Pt(3, 2), image.Pt(0, 1)}, 3: {image.Pt(3, 2), image.Pt(0, 0)}, 4: {image.Pt(3, 2), image.Pt(2, 0)},
		5: {image.Pt(2, 3), image.Pt(1, 2)}, 6: {image.Pt(2, 3), image.Pt(0, 2)}, 7: {image.Pt(2, 3), image.Pt(0, 0)}, 8: {image.Pt(2, 3), image.Pt(1, 0)},
	} {
		little, big := string(exifOf(binary.LittleEndian, value)), string(exifOf(binary.BigEndian, value))
		for name, data := range map[string][]byte{
			"JPEG":                     withSegment(jpegOf(t, 3, 2), 0xe1, exifHead+little),
			"JPEG of the other order":  withSegment(jpegOf(t, 3, 2), 0xe1, exifHead+big),
			"JPEG with other segments": withSegment(withSegment(jpegOf(t, 3, 2), 0xe1, exifHead+little), 0xe1, "http://ns.adobe.com/xap/1.0/\x00"+evil),
			"PNG":                      withChunk(pngOf(t, 3, 2), "eXIf", big),
		} {
			got, err := Redraw(t.Context(), "turner", data, 1<<20)
			if err != nil {
				t.Fatalf("%d, %s: %v", value, name, err)
			}
			img, _, err := image.Decode(bytes.NewReader(got.Data))
			if err != nil {
				t.Fatalf("%d, %s: %v", value, name, err)
			}
			if size, dark := img.Bounds().Size(), darkest(img); size != want.size || dark != want.dark {
				t.Errorf("%d, %s: it has %v pixels, the dark one at %v, want %v and %v", value, name, size, dark, want.size, want.dark)
			}
		}
	}
}

// darkest returns the place of the darkest pixel.
func darkest(img image.Image) (at image.Point) {
	least := ^uint32(0)
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			if r, g, b, _ := img.At(x, y).RGBA(); r+g+b < least {
				least, at = r+g+b, image.Pt(x, y)
			}
		}
	}
	return at
}

// TestEveryKindOfPixelIsTurned turns pixels that are held in other ways.
func TestEveryKindOfPixelIsTurned(t *testing.T) {
	t.Parallel()
	r := image.Rect(5, 7, 8, 9)
	for _, img := range []interface {
		image.Image
		PixOffset(x, y int) int
	}{
		image.NewGray(r), image.NewGray16(r), image.NewRGBA(r), image.NewNRGBA(r), image.NewRGBA64(r), image.NewNRGBA64(r), image.NewCMYK(r), draw(3, 2),
	} {
		got, err := orientation(6).turnPixels(t.Context(), img)
		if err != nil || got.Bounds() != image.Rect(0, 0, 2, 3) {
			t.Errorf("%T: %v, %v", img, got, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := orientation(6).turnPixels(ended, draw(3, 2)); err != errLate {
		t.Errorf("a picture was turned after the end of its call: %v", err)
	}
}

// endsLater is a context that has ended when it is asked for the second time.
type endsLater struct {
	context.Context
	asked *bool
}

func (c endsLater) Err() error {
	if *c.asked {
		return context.Canceled
	}
	*c.asked = true
	return nil
}

// TestARowCanBeLeft turns a picture of one long row, whose call ends before it does.
func TestARowCanBeLeft(t *testing.T) {
	t.Parallel()
	if _, err := orientation(2).turnPixels(endsLater{t.Context(), new(bool)}, draw(100_000, 1)); err != errLate {
		t.Errorf("a row was turned after the end of its call: %v", err)
	}
}

// TestMetadataThatIsNoneTurnsNothing reads what is cut, wrong, or names what is not there.
func TestMetadataThatIsNoneTurnsNothing(t *testing.T) {
	t.Parallel()
	good := exifOf(binary.LittleEndian, 6)
	change := func(at int, with ...byte) []byte { return slices.Concat(good[:at], with, good[at+len(with):]) }
	long := slices.Concat([]byte("II\x2a\x00\x08\x00\x00\x00\x01\x00\x12\x01"), []byte{4, 0, 1, 0, 0, 0, 6, 0, 0, 0})
	many := slices.Concat([]byte("II\x2a\x00\x08\x00\x00\x00\x01\x00\x12\x01"), []byte{3, 0, 2, 0, 0, 0, 6, 0, 0, 0})
	for what, tiff := range map[string][]byte{
		"nothing": nil, "no order": change(0, 'X', 'X'), "another mark": change(2, 43), "a place behind the end": change(4, 0xff, 0xff, 0xff, 0xff),
		"a place at the end": change(4, byte(len(good)-1)), "no entries": change(8, 0, 0), "a number of another size": long, "two numbers": many,
	} {
		if got := readOrientation(tiff); got != 0 {
			t.Errorf("%s: %d, want nothing", what, got)
		}
	}
	if got := readOrientation(change(8, 0xff, 0xff)); got != 6 {
		t.Errorf("with too many entries: %d, want what is there", got)
	}
	chunk := slices.Concat([]byte("RIFF\x00\x00\x00\x00WEBP"), []byte("VP8 \x03\x00\x00\x00abc\x00EXIF"), binary.LittleEndian.AppendUint32(nil, uint32(len(good))), good)
	if got := findInWebP(chunk); got != 6 {
		t.Errorf("a WebP: %d, want 6", got)
	}
	for what, tt := range map[string]struct {
		find func([]byte) orientation
		data []byte
	}{
		"JPEG": {findInJPEG, withSegment(jpegOf(t, 3, 2), 0xe1, exifHead+string(good))}, "PNG": {findInPNG, withChunk(pngOf(t, 3, 2), "eXIf", string(good))}, "WebP": {findInWebP, chunk},
	} {
		for end := range tt.data {
			if got := tt.find(tt.data[:end]); got != 0 && got != 6 {
				t.Errorf("%s cut at %d: %d", what, end, got)
			}
		}
	}
	behind := append(jpegOf(t, 3, 2), withSegment(jpegOf(t, 3, 2), 0xe1, exifHead+string(good))...)
	if got := findInJPEG(behind); got != 0 {
		t.Errorf("metadata behind the pixels: %d, want nothing", got)
	}
}

// TestATurnedPictureIsCountedAsItIsHeld refuses large ones of four colors, and of red,
// green and blue, for what they take while they are turned.
func TestATurnedPictureIsCountedAsItIsHeld(t *testing.T) {
	t.Parallel()
	const begin, size, end = "\xff\xd8", "\x08\x0f\xa0\x0b\xb8", "\xff\xda\x00\x02" // 3000 x 4000 pixels
	for what, tt := range map[string]struct {
		head string
		fits bool
	}{
		"four colors":         {begin + "\xff\xc0\x00\x14" + size + "\x04\x01\x11\x00\x02\x11\x00\x03\x11\x00\x04\x11\x00" + end, false},
		"red, green and blue": {begin + "\xff\xc0\x00\x11" + size + "\x03R\x11\x00G\x11\x00B\x11\x00" + end, false},
		"a photo":             {begin + "\xff\xc0\x00\x11" + size + "\x03\x01\x22\x00\x02\x11\x00\x03\x11\x00" + end, true},
	} {
		f, _ := formOf([]byte(tt.head))
		if _, err := f.checkHead(t.Context(), []byte(tt.head), 1); err != nil {
			t.Errorf("%s, as it is: %v", what, err)
		}
		if _, err := f.checkHead(t.Context(), []byte(tt.head), 6); (err == nil) != tt.fits || err != nil && !strings.Contains(err.Error(), "too much memory") {
			t.Errorf("%s, turned: %v, want %t", what, err, tt.fits)
		}
	}
}

// FuzzOrientation reads anything as metadata.
func FuzzOrientation(f *testing.F) {
	f.Add(exifOf(binary.LittleEndian, 6))
	f.Add(exifOf(binary.BigEndian, 8))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, find := range []func([]byte) orientation{readOrientation, findInJPEG, findInPNG, findInWebP} {
			if o := find(data); o != 0 && !o.isTurned() {
				t.Errorf("%d is no orientation", o)
			}
		}
	})
}
