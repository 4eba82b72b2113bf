package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
)

// maxGrantTexts bounds the grants whose text is remembered; a text has at most
// maxGrant bytes.
const maxGrantTexts = 256

// grantTexts remembers the JSON of grants. A grant does not change, and calls
// of a tool in a role share one. It is safe for concurrent use.
type grantTexts struct {
	mu    sync.RWMutex
	texts map[*sallyport.Grant]grantText
}

// grantText is the JSON of a grant, or the digest of one that is too large for
// a record.
type grantText struct {
	text   []byte
	digest string
}

// find returns what a record says of a grant.
func (t *grantTexts) find(g *sallyport.Grant) (grantText, error) {
	t.mu.RLock()
	known, ok := t.texts[g]
	t.mu.RUnlock()
	if ok {
		return known, nil
	}
	fresh, err := encodeGrant(g)
	if err != nil {
		return fresh, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.texts == nil || len(t.texts) >= maxGrantTexts {
		t.texts = make(map[*sallyport.Grant]grantText)
	}
	t.texts[g] = fresh
	return fresh, nil
}

func encodeGrant(g *sallyport.Grant) (grantText, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(g); err != nil {
		return grantText{}, fmt.Errorf("audit: grant: %w", err)
	}
	text := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if len(text) > maxGrant {
		return grantText{digest: digest.Text(text)}, nil
	}
	return grantText{text: text}, nil
}
