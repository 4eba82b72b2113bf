package registry

import (
	"context"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/picture"
)

// pictureDrawing draws the pictures of one result again, in the time of all of
// them together.
type pictureDrawing struct {
	ctx       context.Context
	principal string
	cancel    func() // nil before the first picture
}

// redrawPicture puts the pixels alone in the place of a picture, in at most so many
// bytes, or says why there is no picture. A resource that is no picture stays,
// as data that is not said to be one.
func (d *pictureDrawing) redrawPicture(p *sallyport.Part, most int) (why string) {
	resource := p.Kind == sallyport.PartResource
	if p.Kind != sallyport.PartImage && (!resource || len(p.Data) == 0 || !isPicture(p.MediaType)) {
		return ""
	}
	if d.cancel == nil {
		d.ctx, d.cancel = context.WithTimeout(d.ctx, picture.Patience)
	}
	drawn, err := picture.Redraw(d.ctx, d.principal, p.Data, most)
	switch {
	case err == nil:
		p.Data, p.MediaType = drawn.Data, drawn.MediaType
		return ""
	case resource:
		p.MediaType = unknownBytes
		return ""
	default:
		return fmt.Sprintf("a picture of %d bytes was left out: %s", len(p.Data), err)
	}
}

func (d *pictureDrawing) endDrawing() {
	if d.cancel != nil {
		d.cancel()
	}
}

// isPicture reports whether data of a media type is shown as a picture.
func isPicture(mediaType string) bool {
	return strings.HasPrefix(strings.ToLower(mediaType), "image/")
}
