package web

import (
	"context"

	"github.com/sallyport/sallyport/tools/internal/reply"
)

// fetchedPage is an answer on its way to text.
type fetchedPage struct {
	*reply.Answer

	title, text string
}

// renderText fills in the title and the text.
func (d *fetchedPage) renderText(ctx context.Context, conv *textConverter, raw bool) error {
	k := d.Kind()
	if k == reply.Binary {
		d.text = d.Describe()
		return nil
	}
	content := d.Decode()
	if k == reply.Text || raw {
		d.text = content
		return nil
	}
	var err error
	d.title, d.text, err = conv.readableText(ctx, content, d.Base)
	return err
}
