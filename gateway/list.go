package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/registry"
)

const (
	// pageSize is the number of items in one answer. It is so large that a
	// client that never asks for a second page misses nothing in practice.
	pageSize = 1000
	// listTTL is how long a client may cache a list, in milliseconds. The call
	// of a tool that has gone by then is refused.
	listTTL = 60_000
	// listScope limits a cached list to the client of the principal that asked:
	// other principals see other tools.
	listScope = "private"
	// maxKeptPages bounds the pages that are cached in encoded form: callers
	// have few different views. Together with maxKeptPage it bounds the cache
	// to 8 MiB.
	maxKeptPages = 8
	maxKeptPage  = 1 << 20
)

// listCache is the cache policy of every list.
var listCache = mcp.Cacheable{TTLMs: listTTL, CacheScope: listScope}

func (c *core) listTools(_ context.Context, r *request, out []byte) ([]byte, error) {
	caller, cursor, err := c.readListing(r)
	if err != nil {
		return out, err
	}
	page, err := c.lists.encodedPage(slices.DeleteFunc(c.gate.Definitions(caller), func(d registry.Definition) bool { return d.ListedAs != "" }), cursor)
	if err != nil {
		return out, err
	}
	return c.appendEncoded(out, r, page), nil
}

// readListing returns the caller of a listing and the cursor that it names.
func (c *core) readListing(r *request) (caller *sallyport.Caller, cursor string, err error) {
	if cursor, err = r.In.Text("cursor"); err != nil {
		return nil, "", err
	}
	caller, err = c.callerOf(r, "")
	return caller, cursor, err
}

func nameOf(d *registry.Definition) string { return d.Name }

// findDefinition finds a definition in a list that is sorted by name.
func findDefinition(defs []registry.Definition, name string) (i int, ok bool) {
	return slices.BinarySearchFunc(defs, name, func(d registry.Definition, name string) int { return strings.Compare(d.Name, name) })
}

// pageBehind returns the items of one page and the cursor of the next. Items come
// sorted by key. The cursor is the last key of the previous page, so it stays
// valid when items are added or removed.
func pageBehind[T any](all []T, cursor string, key func(*T) string) (rest []T, next string, err error) {
	last, failed := base64.RawURLEncoding.DecodeString(cursor)
	if failed != nil {
		return nil, "", wire.Invalid("the cursor is not one of this server's")
	}
	from := sort.Search(len(all), func(i int) bool { return cursor == "" || key(&all[i]) > string(last) })
	if rest = all[from:]; len(rest) > pageSize {
		rest = rest[:pageSize]
		next = base64.RawURLEncoding.EncodeToString([]byte(key(&rest[pageSize-1])))
	}
	return rest, next, nil
}

// pageCache caches the text of recently requested pages. It finds a page only by
// the definitions that the page holds. A caller that sees other tools, or
// another description of one, never gets it.
type pageCache struct {
	mu   sync.Mutex
	kept []cachedPage // most recent last
}

type cachedPage struct {
	defs []registry.Definition
	next string
	text []byte
}

// encodedPage returns the encoded page behind a cursor. The caller must not change it.
func (l *pageCache) encodedPage(defs []registry.Definition, cursor string) ([]byte, error) {
	rest, next, err := pageBehind(defs, cursor, nameOf)
	if err != nil {
		return nil, err
	}
	if text := l.findPage(rest, next); text != nil {
		return text, nil
	}
	page, err := wire.AppendJSON(nil, &mcp.ListToolsResult{Cacheable: listCache, NextCursor: next, Tools: toolsOf(rest)})
	if err != nil {
		return nil, err
	}
	l.storePage(cachedPage{rest, next, page})
	return page, nil
}

func (l *pageCache) findPage(defs []registry.Definition, next string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.kept {
		if k := &l.kept[i]; k.next == next && slices.EqualFunc(k.defs, defs, sameDefinition) {
			return k.text
		}
	}
	return nil
}

func (l *pageCache) storePage(k cachedPage) {
	if len(k.text) > maxKeptPage {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == maxKeptPages {
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	l.kept = append(l.kept, k)
}

// sameDefinition reports whether two definitions have the same text. The gate returns the
// same slices again and again, so this mostly compares addresses.
func sameDefinition(a, b registry.Definition) bool {
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description &&
		bytes.Equal(a.Schema, b.Schema) && bytes.Equal(a.Returns, b.Returns) && (a.Returns == nil) == (b.Returns == nil) &&
		a.ReadOnly == b.ReadOnly && a.Destructive == b.Destructive && a.Idempotent == b.Idempotent && a.OpenWorld == b.OpenWorld
}

func toolsOf(defs []registry.Definition) []*mcp.Tool {
	out := make([]*mcp.Tool, len(defs))
	for i := range defs {
		d := &defs[i]
		out[i] = &mcp.Tool{
			Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.Schema,
			Annotations: &mcp.ToolAnnotations{
				Title: d.Title, ReadOnlyHint: d.ReadOnly, IdempotentHint: d.Idempotent,
				DestructiveHint: &d.Destructive, OpenWorldHint: &d.OpenWorld,
			},
		}
		if d.Returns != nil {
			out[i].OutputSchema = d.Returns
		}
	}
	return out
}
