package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"image"
	"image/color"
)

// orientation says how a picture is turned to be looked at, as cameras write it down: 1
// as it is, 2 to 4 mirrored or upside down, 5 to 8 with rows for columns. The zero value
// is that of a picture which says nothing.
type orientation int

// swapsSides reports whether rows become columns.
func (o orientation) swapsSides() bool { return o >= 5 }

// isTurned reports whether the picture is to be turned at all.
func (o orientation) isTurned() bool { return o >= 2 && o <= 8 }

// The metadata of a JPEG begins with this text.
const exifHead = "Exif\x00\x00"

// findInJPEG returns the orientation of a JPEG: its first metadata, before its pixels.
func findInJPEG(data []byte) orientation {
	const (
		fill, startOfScan, application = 0xff, 0xda, 0xe1
		sizeOfLength                   = 2
	)
	for rest := data[min(2, len(data)):]; len(rest) >= 4 && rest[0] == fill; {
		if rest[1] == fill { // marks may have more of them in front
			rest = rest[1:]
			continue
		}
		size := int(binary.BigEndian.Uint16(rest[2:]))
		if rest[1] == startOfScan || size < sizeOfLength || len(rest)-2 < size {
			return 0
		}
		if body := rest[4 : 2+size]; rest[1] == application && bytes.HasPrefix(body, []byte(exifHead)) {
			return readOrientation(body[len(exifHead):])
		}
		rest = rest[2+size:]
	}
	return 0
}

// findInPNG returns the orientation of a PNG.
func findInPNG(data []byte) orientation {
	const head, checksum = 8, 4
	for rest := data[min(head, len(data)):]; len(rest) >= 8+checksum; {
		size := binary.BigEndian.Uint32(rest)
		kind, body := string(rest[4:8]), rest[8:len(rest)-checksum]
		if int64(size) > int64(len(body)) || kind == "IEND" {
			return 0
		}
		if kind == "eXIf" {
			return readOrientation(body[:size])
		}
		rest = rest[8+int(size)+checksum:]
	}
	return 0
}

// findInWebP returns the orientation of a WebP.
func findInWebP(data []byte) orientation {
	const head = 12
	for rest := data[min(head, len(data)):]; len(rest) >= 8; {
		size := int64(binary.LittleEndian.Uint32(rest[4:]))
		body := rest[8:]
		if size > int64(len(body)) {
			return 0
		}
		if string(rest[:4]) == "EXIF" {
			return readOrientation(bytes.TrimPrefix(body[:size], []byte(exifHead)))
		}
		rest = body[min(size+size%2, int64(len(body))):]
	}
	return 0
}

func findNothing([]byte) orientation { return 0 }

// readOrientation returns the orientation in metadata, which is a TIFF without pixels:
// one number in its first list of entries. Nothing else of it is read.
func readOrientation(tiff []byte) orientation {
	const (
		head, entrySize  = 8, 12
		tag, short       = 0x0112, 3
		mark, littleMark = 42, "II"
	)
	if len(tiff) < head {
		return 0
	}
	var order binary.ByteOrder = binary.BigEndian
	if string(tiff[:2]) == littleMark {
		order = binary.LittleEndian
	} else if string(tiff[:2]) != "MM" {
		return 0
	}
	at := order.Uint32(tiff[4:])
	if order.Uint16(tiff[2:]) != mark || uint64(at)+2 > uint64(len(tiff)) {
		return 0
	}
	n := int(order.Uint16(tiff[at:]))
	for entries := tiff[at+2:]; n > 0 && len(entries) >= entrySize; n, entries = n-1, entries[entrySize:] {
		if order.Uint16(entries) != tag {
			continue
		}
		if o := orientation(order.Uint16(entries[8:])); order.Uint16(entries[2:]) == short && order.Uint32(entries[4:]) == 1 && o.isTurned() {
			return o
		}
		return 0
	}
	return 0
}

// turnPixels returns a picture as it is to be looked at.
func (o orientation) turnPixels(ctx context.Context, img image.Image) (image.Image, error) {
	from, ok := img.(image.RGBA64Image)
	if !o.isTurned() || !ok {
		return img, nil
	}
	b := img.Bounds()
	size := b.Size()
	if o.swapsSides() {
		size.X, size.Y = size.Y, size.X
	}
	to := newLike(img, image.Rectangle{Max: size})
	const often = 1 << 16 // a row may be the whole picture
	for y := range size.Y {
		for x := range size.X {
			if x%often == 0 && ctx.Err() != nil {
				return nil, errLate
			}
			at := o.findSource(x, y, b.Dx(), b.Dy())
			to.SetRGBA64(x, y, from.RGBA64At(b.Min.X+at.X, b.Min.Y+at.Y))
		}
	}
	return to, nil
}

// findSource returns from where a turned picture takes a pixel, in a picture of a width
// and a height.
func (o orientation) findSource(x, y, width, height int) image.Point {
	right, bottom := width-1, height-1
	switch o {
	case 2:
		return image.Pt(right-x, y)
	case 3:
		return image.Pt(right-x, bottom-y)
	case 4:
		return image.Pt(x, bottom-y)
	case 5:
		return image.Pt(y, x)
	case 6:
		return image.Pt(y, bottom-x)
	case 7:
		return image.Pt(right-y, bottom-x)
	case 8:
		return image.Pt(right-y, x)
	default:
		return image.Pt(x, y)
	}
}

// pixels is a picture whose pixels can be set.
type pixels interface {
	image.Image
	SetRGBA64(x, y int, c color.RGBA64)
}

// newLike returns an empty picture that holds what a picture holds, and that is encoded
// as fast.
func newLike(img image.Image, r image.Rectangle) pixels {
	switch img.(type) {
	case *image.Gray:
		return image.NewGray(r)
	case *image.Gray16:
		return image.NewGray16(r)
	case *image.RGBA64, *image.NRGBA64:
		return image.NewNRGBA64(r)
	case *image.YCbCr, *image.CMYK, *image.RGBA:
		return image.NewRGBA(r)
	default:
		return image.NewNRGBA(r)
	}
}
