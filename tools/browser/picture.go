package browser

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // the form of pictures
	_ "image/png"  // the form of pictures
	"math"

	"github.com/sallyport/sallyport"
)

const (
	// maxPictureHeight bounds a picture of a whole page, and with it the pixels.
	maxPictureHeight = 5000
	// maxPictureBytes bounds a picture. One in PNG that is larger becomes one in JPEG, of
	// less quality until it fits.
	maxPictureBytes = 1 << 20
)

// area is a part of a page, in pixels.
type area struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// takePicture returns a picture of a part of the page, of the whole page, or of the
// window where neither is given. note says what it lacks.
func (t *tab) takePicture(ctx context.Context, part *area, whole bool) (p sallyport.Part, note string, err error) {
	params := object{"optimizeForSpeed": false}
	if whole {
		var m struct {
			Size area `json:"cssContentSize"`
		}
		if err := t.askBrowser(ctx, "Page.getLayoutMetrics", nil, &m); err != nil {
			return p, "", newFailure("cannot take a picture", err)
		}
		part = &m.Size
	}
	if part != nil {
		clip := *part
		if clip.Height > maxPictureHeight {
			note = fmt.Sprintf("the picture shows the first %d of %.0f pixels of its height", maxPictureHeight, clip.Height)
		}
		clip.Width, clip.Height = boundSize(clip.Width, viewWidth*2), boundSize(clip.Height, maxPictureHeight)
		params["clip"] = struct {
			area
			Scale float64 `json:"scale"`
		}{clip, 1}
		params["captureBeyondViewport"] = true
	}
	for _, quality := range []int{0, 80, 50, 20} {
		params["format"] = "png"
		if quality > 0 {
			params["format"], params["quality"] = "jpeg", quality
		}
		var got struct {
			Data []byte `json:"data"`
		}
		if err := t.askBrowser(ctx, "Page.captureScreenshot", params, &got); err != nil {
			return p, "", newFailure("cannot take a picture", err)
		}
		if len(got.Data) > maxPictureBytes {
			continue
		}
		// The browser has read what others wrote: what it calls a picture is looked at.
		head, kind, err := image.DecodeConfig(bytes.NewReader(got.Data))
		if err != nil || head.Width > 2*viewWidth || head.Height > maxPictureHeight {
			return p, "", newFailure("what the browser made is no picture of the page", err)
		}
		return sallyport.Part{Kind: sallyport.PartImage, Data: got.Data, MediaType: "image/" + kind}, note, nil
	}
	return p, "", newFailure(fmt.Sprintf("the picture has more than %d bytes, also in low quality; take one of the window or of an element", maxPictureBytes), nil)
}

func boundSize(size, most float64) float64 { return math.Ceil(min(max(size, 1), most)) }

// areaOf returns the part of the page that a node fills.
func (t *tab) areaOf(ctx context.Context, n pageElement) (*area, error) {
	if _, err := t.locateElement(ctx, n); err != nil {
		return nil, err
	}
	var box struct {
		Model struct {
			Border []float64 `json:"border"`
		} `json:"model"`
	}
	if err := t.askBrowser(ctx, "DOM.getBoxModel", object{"backendNodeId": n.id}, &box); err != nil || len(box.Model.Border) != 8 {
		return nil, n.gone(err)
	}
	var view struct {
		Viewport struct {
			X float64 `json:"pageX"`
			Y float64 `json:"pageY"`
		} `json:"cssLayoutViewport"`
	}
	if err := t.askBrowser(ctx, "Page.getLayoutMetrics", nil, &view); err != nil {
		return nil, newFailure("cannot take a picture", err)
	}
	q := box.Model.Border
	left, right := min(q[0], q[2], q[4], q[6]), max(q[0], q[2], q[4], q[6])
	top, bottom := min(q[1], q[3], q[5], q[7]), max(q[1], q[3], q[5], q[7])
	return &area{left + view.Viewport.X, top + view.Viewport.Y, right - left, bottom - top}, nil
}
