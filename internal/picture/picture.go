// Package picture draws the pictures of results again, so that what reaches a
// model or a person is a picture and nothing else: no comment, no position, no
// second file behind the first one, and no more pixels than the machine can
// hold. It stands as its metadata says that it is to be looked at. [Redraw] is
// the only way in.
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"time"
)

const (
	// MaxPixels bounds a picture: a photo of 4032 by 3024, or the largest page
	// that the browser shows.
	MaxPixels = 12_800_000
	// Patience is how long the pictures of one result may take together.
	Patience = 10 * time.Second

	// pixelCost is the most memory that a pixel takes while its picture is
	// drawn, in bytes: a progressive JPEG of four colors without subsampling
	// keeps a number of four bytes for each.
	pixelCost = 20
)

// Drawn is a picture that was drawn again.
type Drawn struct {
	// Data is the picture.
	Data []byte
	// MediaType is the type of Data.
	MediaType string
}

// Redraw decodes a picture and encodes its pixels again, in at most so many
// bytes. The kind is what the data is: PNG and JPEG stay what they are, the
// first picture of a GIF and a WebP become PNG. Pixels are counted before any
// is decoded. A principal has one picture drawn at a time, and all of them
// together hold no more than 256 MiB; others wait until ctx ends. The text of an
// error has no word of the data, and may be shown.
func Redraw(ctx context.Context, principal string, data []byte, most int) (Drawn, error) {
	return shared.redrawPicture(ctx, principal, data, most)
}

func (s *studio) redrawPicture(ctx context.Context, principal string, data []byte, most int) (Drawn, error) {
	form, ok := formOf(data)
	if !ok {
		return Drawn{}, errors.New("it is no PNG, JPEG, GIF or WebP")
	}
	turned := form.findOrientation(data)
	cost, err := form.checkHead(ctx, data, turned)
	if err != nil {
		return Drawn{}, err
	}
	leave, err := s.enterRoom(ctx, principal, cost)
	if err != nil {
		return Drawn{}, errLate
	}
	defer leave()
	img, err := form.decodePixels(ctx, data)
	if err == nil {
		img, err = turned.turnPixels(ctx, img)
	}
	switch {
	case ctx.Err() != nil:
		return Drawn{}, errLate
	case err != nil:
		return Drawn{}, form.unreadableError()
	}
	out := &boundWriter{ctx: ctx, most: most}
	if err := form.encode(out, img); err != nil {
		return Drawn{}, out.writeFault()
	}
	return Drawn{Data: out.text.Bytes(), MediaType: form.mediaType}, nil
}

// errLate says that the time of the call is used up.
var errLate = errors.New("there was no time to draw it again")

// checkHead reads the head of a picture, refuses what is too large, and returns
// how many bytes it may take to draw it.
func (f *form) checkHead(ctx context.Context, data []byte, turned orientation) (cost int64, err error) {
	var head image.Config
	err = f.guardDecoder(func() (err error) {
		head, err = f.decodeHead(&boundReader{ctx: ctx, r: bytes.NewReader(data)})
		return err
	})
	if err != nil || head.Width <= 0 || head.Height <= 0 {
		return 0, f.unreadableError()
	}
	if head.Width > MaxPixels || head.Height > MaxPixels/head.Width {
		return 0, fmt.Errorf("it has %d x %d pixels, more than %d together", head.Width, head.Height, MaxPixels)
	}
	pixel := int64(pixelCost)
	if m := head.ColorModel; turned.isTurned() && (m == color.CMYKModel || m == color.RGBAModel) {
		pixel += f.turnCost
	}
	cost = f.countHeld(head.Width, head.Height)*pixel + f.beside(data)
	if cost > maxMemory {
		return 0, errors.New("it takes too much memory or time to be drawn again")
	}
	return cost, nil
}

// decodePixels decodes the pixels of a picture whose head was checked.
func (f *form) decodePixels(ctx context.Context, data []byte) (img image.Image, err error) {
	err = f.guardDecoder(func() (err error) {
		img, err = f.decode(&boundReader{ctx: ctx, r: bytes.NewReader(data)})
		return err
	})
	if err != nil {
		return nil, err
	}
	if size := img.Bounds().Size(); size.X <= 0 || size.Y <= 0 || size.X > MaxPixels || size.Y > MaxPixels/size.X {
		return nil, f.unreadableError()
	}
	return img, nil
}

// guardDecoder turns a panic of a decoder into an error: what it reads, others wrote.
func (f *form) guardDecoder(decode func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = f.unreadableError()
		}
	}()
	return decode()
}

func (f *form) unreadableError() error { return fmt.Errorf("it cannot be read as %s", f.name) }
