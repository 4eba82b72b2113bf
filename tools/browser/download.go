package browser

import (
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxDownloads bounds the downloads that are kept of a browser, maxDownloadBytes each
	// of them.
	maxDownloads, maxDownloadBytes = 20, 32 << 20
	// pieceBytes is how much of a download is read at once.
	pieceBytes = 4 << 20
)

// downloadList is the downloads of a browser. They are in the private memory of its child.
// The lock of the browser guards it.
type downloadList struct {
	downloads []*download
	// reader is the page that reads one, in a context of its own.
	readerContext string
	reader        *tab
}

type download struct {
	// id is the name for models, guid that of the browser and of the file, name what the
	// page calls it. They do not change.
	id, guid, name string
	state          string // inProgress, completed or canceled
	bytes          float64
	tooLarge       bool
}

func (b *chromium) beginDownload(e *event) {
	for _, t := range b.tabs {
		if t.target == e.FrameID {
			t.fruitless = false
		}
	}
	if len(b.downloads) >= maxDownloads {
		b.tellBrowser("", "Browser.cancelDownload", object{"guid": e.GUID})
		b.addNote(fmt.Sprintf("a download was cancelled: the browser has had %d, the most there may be", maxDownloads))
		return
	}
	d := &download{id: fmt.Sprintf("d%d", len(b.downloads)+1), guid: e.GUID, name: shownName(e.Suggested), state: "inProgress"}
	b.downloads = append(b.downloads, d)
	b.addNote(fmt.Sprintf("a download began: %s, %q; browser_save writes it to a file", d.id, d.name))
}

// shownName is the name that a page gives to a download, for a text. No file is named
// by it.
func shownName(s string) string {
	return text.Clip(text.OneLine(path.Base(strings.ReplaceAll(text.FirstBytes(s, 2000), `\`, "/"))), 100)
}

func (b *chromium) followDownload(e *event) {
	for _, d := range b.downloads {
		if d.guid != e.GUID {
			continue
		}
		d.state, d.bytes = e.State, e.Received
		if d.bytes > maxDownloadBytes && !d.tooLarge {
			d.tooLarge = true
			b.tellBrowser("", "Browser.cancelDownload", object{"guid": d.guid})
		}
	}
}

// finishDownload waits for the end of a download.
func (b *chromium) finishDownload(ctx context.Context, id string) (*download, error) {
	var found *download
	b.mu.Lock()
	for _, d := range b.downloads {
		if d.id == id {
			found = d
		}
	}
	b.mu.Unlock()
	if found == nil {
		return nil, sallyport.InputInvalid("no download of this browser has this id")
	}
	if err := b.awaitCondition(ctx, func() bool { return found.state != "inProgress" || found.tooLarge }); err != nil {
		return nil, newFailure("the download has not ended", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case found.tooLarge:
		return nil, newFailure(fmt.Sprintf("the download has more than %d MiB, the most there may be", maxDownloadBytes>>20), nil)
	case found.state != "completed":
		return nil, newFailure("the download did not come to its end", nil)
	}
	return found, nil
}

// readDownload returns the content of a download. The browser alone reaches its file, so that an
// empty page of its own, which no other page sees, reads it.
func (b *chromium) readDownload(ctx context.Context, d *download) (content []byte, err error) {
	var apart struct {
		ID string `json:"browserContextId"`
	}
	if err := b.askBrowser(ctx, "", "Target.createBrowserContext", object{"disposeOnDetach": true}, &apart); err != nil {
		return nil, err
	}
	defer b.tellBrowser("", "Target.disposeBrowserContext", object{"browserContextId": apart.ID})
	b.mu.Lock()
	b.readerContext, b.reader = apart.ID, nil
	b.mu.Unlock()
	if err := b.askBrowser(ctx, "", "Target.createTarget", object{"url": "about:blank", "browserContextId": apart.ID}, nil); err != nil {
		return nil, err
	}
	if err := b.awaitCondition(ctx, func() bool { return b.reader != nil }); err != nil {
		return nil, err
	}
	t := b.reader
	var field scriptResult
	if err := t.askBrowser(ctx, "Runtime.evaluate", object{"expression": "Object.assign(document.createElement('input'), {type: 'file'})"}, &field); err != nil {
		return nil, err
	}
	if err := t.askBrowser(ctx, "DOM.setFileInputFiles", object{"files": []string{downloadDir + "/" + d.guid}, "objectId": field.Result.ObjectID}, nil); err != nil {
		return nil, err
	}
	for len(content) <= maxDownloadBytes {
		var piece string
		err := t.callOn(ctx, field.Result.ObjectID, `async function(from, to) {
			const bytes = await new Response(this.files[0].slice(from, to)).bytes();
			return bytes.toBase64();
		}`, []any{len(content), len(content) + pieceBytes}, &piece)
		if err != nil {
			return nil, err
		}
		raw, err := base64.StdEncoding.DecodeString(piece)
		if err != nil {
			return nil, err
		}
		content = append(content, raw...)
		if len(raw) < pieceBytes {
			return content, nil
		}
	}
	return nil, errTooLong
}
