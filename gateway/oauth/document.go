package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/sallyport/sallyport/schema"
)

// jsonDocument is a JSON object that another party wrote. Its keys are compared
// exactly, none is there twice, and a value of another type than expected is a
// fault instead of nothing.
type jsonDocument struct {
	members map[string]any
	err     error
}

// stringField returns a text, "" when there is none.
func (d *jsonDocument) stringField(key string) string {
	v, there := d.members[key]
	text, ok := v.(string)
	if there && v != nil && !ok {
		d.err = errors.Join(d.err, fmt.Errorf("%s is no text", key))
	}
	return text
}

// listField returns a list of texts, nil when there is none.
func (d *jsonDocument) listField(key string) []string {
	v, there := d.members[key]
	items, ok := v.([]any)
	if there && v != nil && !ok || len(items) > 1000 {
		d.err = errors.Join(d.err, fmt.Errorf("%s is no list", key))
		return nil
	}
	var list []string
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			d.err = errors.Join(d.err, fmt.Errorf("%s is no list of texts", key))
			return nil
		}
		list = append(list, text)
	}
	return list
}

func (d *jsonDocument) boolField(key string) bool {
	v, _ := d.members[key].(bool)
	return v
}

// secondsField returns a whole number of seconds, 0 when there is none or when it
// is beyond a year.
func (d *jsonDocument) secondsField(key string) int64 {
	var n int64
	switch v := d.members[key].(type) {
	case json.Number:
		f, err := v.Float64()
		if err == nil && f > 0 && f < 366*24*3600 {
			n = int64(f)
		}
	case string: // some issuers quote it
		if _, err := fmt.Sscanf(v, "%d", &n); err != nil || n < 0 || n > 366*24*3600 {
			n = 0
		}
	}
	return n
}

var errAbsent = errors.New("there is no such document")

// fetchDocument fetches a document. A client error of the server means that it is not
// there.
func fetchDocument(ctx context.Context, client *http.Client, address string) (*jsonDocument, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%s is no address", clipQuote(address))
	}
	r.Header.Set("Accept", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return nil, errAbsent
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s answered %d", clipQuote(address), resp.StatusCode)
	}
	d, err := readDocument(resp)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clipQuote(address), err)
	}
	return d, nil
}

// readDocument reads the body of an answer, bounded. Nothing of it is quoted: it may
// hold secrets.
func readDocument(resp *http.Response) (*jsonDocument, error) {
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, errors.New("the answer is no JSON")
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("the answer has more than %d bytes", maxDocument)
	}
	tree, err := schema.Decode(text, &schema.Limits{Bytes: maxDocument, Depth: 16, Nodes: 10_000})
	members, ok := tree.(map[string]any)
	if err != nil || !ok {
		return nil, errors.New("the answer is no well-formed JSON object")
	}
	return &jsonDocument{members: members}, nil
}
