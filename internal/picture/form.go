package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"golang.org/x/image/webp"
)

const (
	// quality of a JPEG that is encoded again: a reader sees no difference.
	quality = 90
	// maxScans bounds the scans of a JPEG. An encoder makes ten, and each of them
	// may go over all pixels for a few bytes.
	maxScans = 40
	// losslessCost is how many bytes of codes one byte of a lossless WebP may
	// describe.
	losslessCost = 320
	// quickPixels is from how many pixels a PNG is encoded for speed.
	quickPixels = 2_000_000
)

// form is a kind of picture that is understood.
type form struct {
	name       string
	magic      string
	decodeHead func(io.Reader) (image.Config, error)
	decode     func(io.Reader) (image.Image, error)
	encode     func(io.Writer, image.Image) error
	// mediaType is the type of what encode writes.
	mediaType string
	// beside returns how much memory a picture takes beside its pixels. One that
	// takes too much time takes all.
	beside func(data []byte) int64
	// unit is how many pixels are held together at most: an edge holds whole units.
	unit image.Point
	// findOrientation returns how the metadata says that a picture is turned.
	findOrientation func(data []byte) orientation
	// turnCost is what a pixel of four colors, or of red, green and blue, takes beside
	// pixelCost while its picture is turned. Others take less, with the turned picture.
	turnCost int64
}

// The list is closed: what a program registers with package image elsewhere
// does not count.
var forms = []form{
	{"PNG", "\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode, encodePNG, "image/png", costsNothingBeside, image.Pt(1, 1), findInPNG, 0},
	{"JPEG", "\xff\xd8\xff", jpeg.DecodeConfig, jpeg.Decode, encodeJPEG, "image/jpeg", repeatedScans, image.Pt(32, 16), findInJPEG, 4},
	{"GIF", "GIF8", gif.DecodeConfig, gif.Decode, encodePNG, "image/png", costsNothingBeside, image.Pt(1, 1), findNothing, 0},
	{"WebP", "WEBP", webp.DecodeConfig, webp.Decode, encodePNG, "image/png", losslessMemory, image.Pt(1, 1), findInWebP, 0},
}

// formOf tells the kind of a picture by its first bytes.
func formOf(data []byte) (*form, bool) {
	head := string(data[:min(16, len(data))])
	if strings.HasPrefix(head, "RIFF") && len(head) > 8 {
		head = head[8:] // behind the length
	}
	for i := range forms {
		if strings.HasPrefix(head, forms[i].magic) {
			return &forms[i], true
		}
	}
	return nil, false
}

// countHeld returns how many pixels are held for a picture of a size.
func (f *form) countHeld(width, height int) int64 {
	whole := func(n, unit int) int64 { return int64(n+unit-1) / int64(unit) * int64(unit) }
	return whole(width, f.unit.X) * whole(height, f.unit.Y)
}

func costsNothingBeside([]byte) int64 { return 0 }

// losslessMemory counts the parts of a WebP that are compressed without loss.
func losslessMemory(data []byte) int64 {
	var n int64
	for rest := data[min(12, len(data)):]; len(rest) >= 8; {
		size := int64(binary.LittleEndian.Uint32(rest[4:]))
		switch string(rest[:4]) {
		case "VP8L", "ALPH":
			n += min(size, int64(len(rest)))
		}
		rest = rest[min(8+size+size%2, int64(len(rest))):]
	}
	return n * losslessCost
}

// repeatedScans is more than there is for a JPEG that goes over its pixels again
// and again. Data has no byte 0xff but before 0 or a mark.
func repeatedScans(data []byte) int64 {
	if bytes.Count(data, []byte{0xff, 0xda}) > maxScans {
		return maxMemory
	}
	return 0
}

func encodeJPEG(w io.Writer, img image.Image) error {
	return jpeg.Encode(w, img, &jpeg.Options{Quality: quality})
}

func encodePNG(w io.Writer, img image.Image) error {
	e := png.Encoder{}
	if size := img.Bounds().Size(); size.X*size.Y > quickPixels {
		e.CompressionLevel = png.BestSpeed
	}
	return e.Encode(w, img)
}
