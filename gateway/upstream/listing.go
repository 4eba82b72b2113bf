package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/rawjson"
)

const (
	// maxTools, maxPrompts and maxResources bound what one server may offer: a
	// model cannot choose between more, and each costs a schema. Templates
	// count as resources.
	maxTools, maxPrompts, maxResources = 500, 500, 1000
	// maxPages bounds the pages of a list, which otherwise might never end.
	maxPages = 100
	// maxListed bounds the bytes of all lists of a server, and maxValues the
	// values in them. Each value takes many times the memory of its text for as
	// long as the server is mounted.
	maxListed, maxValues = maxMessage, 500_000
)

// kinds are the kinds of definitions that servers list, in the order in which
// they are requested.
var kinds = [...]Kind{KindTool, KindPrompt, KindResource, KindTemplate}

// maxOffers returns how many definitions of a kind a server may offer.
func maxOffers(kind Kind) int {
	switch kind {
	case KindTool:
		return maxTools
	case KindPrompt:
		return maxPrompts
	default:
		return maxResources
	}
}

// serverListing is what a server says about itself and offers, at one time.
type serverListing struct {
	// identity and instructions are the server's description of itself.
	identity     json.RawMessage
	instructions string
	// all holds every definition as received, in the order of arrival.
	all map[Kind][]json.RawMessage
	// known holds the definitions that have a key, in order and by key. If
	// several have the same key, it holds one of them, with a fault.
	known []*offering
	byKey map[definitionKey]*offering
	// nameless holds the faults of the definitions without a key.
	nameless []*offering
	// failed says why nothing is known about a kind.
	failed map[Kind]string
	// values is the number of values in all definitions.
	values int
}

// errLost is the error of a request that got no answer, not even an error.
var errLost = errors.New("no answer")

// listOffers requests everything that the server declares to have.
func (l *connLink) listOffers(ctx context.Context) (*serverListing, error) {
	n := &serverListing{all: map[Kind][]json.RawMessage{}, byKey: map[definitionKey]*offering{}, failed: map[Kind]string{}}
	n.identity, n.instructions = decodeGreeting(l.greeting.rawResult())
	left := maxListed
	held, covered := l.holdMemory(nil), int64(0)
	defer l.s.m.memory.releaseHolding(held)
	for _, kind := range kinds {
		if !l.offersKind(kind) {
			continue
		}
		raws, err := l.listKind(ctx, kind, &left)
		if err == nil {
			err = l.s.m.memory.growHolding(held, &covered, int64(maxListed-max(left, 0)))
		}
		switch {
		case err != nil && (ctx.Err() != nil || errors.Is(err, errLost)):
			return nil, err
		case kind == KindTemplate && unknownMethod(err):
			// Many servers have resources but no templates, and do not know the
			// request for templates.
		case err != nil:
			n.failed[kind] = l.s.redactText(err.Error())
		default:
			n.addDefinitions(kind, raws)
		}
	}
	if over := len(n.all[KindResource]) + len(n.all[KindTemplate]); over > maxResources {
		n.dropKind(KindResource, tooMany(KindResource))
		n.dropKind(KindTemplate, tooMany(KindTemplate))
	}
	return n, nil
}

// offersKind reports whether the server declares that it lists a kind.
func (l *connLink) offersKind(kind Kind) bool {
	r := l.session.InitializeResult()
	if r == nil || r.Capabilities == nil {
		return false
	}
	switch kind {
	case KindTool:
		return r.Capabilities.Tools != nil
	case KindPrompt:
		return r.Capabilities.Prompts != nil
	default:
		return r.Capabilities.Resources != nil
	}
}

// listKind requests all pages of one kind. left is the number of bytes that the
// lists may still take.
func (l *connLink) listKind(ctx context.Context, kind Kind, left *int) ([]json.RawMessage, error) {
	var all []json.RawMessage
	cursor := ""
	for range maxPages {
		items, next, err := l.listPage(ctx, kind, cursor, maxOffers(kind)-len(all))
		if err != nil {
			return nil, err
		}
		for _, raw := range items {
			*left -= len(raw)
		}
		all = append(all, items...)
		switch {
		case *left < 0:
			return nil, fmt.Errorf("its lists have more than %d MiB", maxListed>>20)
		case next == "":
			return all, nil
		}
		cursor = next
	}
	return nil, fmt.Errorf("its list of %ss has more than %d pages", kind, maxPages)
}

func tooMany(kind Kind) error {
	if kind == KindTemplate {
		kind = KindResource
	}
	return fmt.Errorf("the server offers more than %d %ss", maxOffers(kind), kind)
}

// listPage requests one page, of at most so many definitions.
func (l *connLink) listPage(ctx context.Context, kind Kind, cursor string, most int) (items []json.RawMessage, next string, err error) {
	ctx, answer := withAnswer(ctx)
	var key, method string
	switch kind {
	case KindTool:
		key, method = "tools", "tools/list"
		_, err = l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
	case KindPrompt:
		key, method = "prompts", "prompts/list"
		_, err = l.session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor})
	case KindResource:
		key, method = "resources", "resources/list"
		_, err = l.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor})
	default:
		key, method = "resourceTemplates", "resources/templates/list"
		_, err = l.session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor})
	}
	defer answer.releaseHolding(l.s.m.memory)
	raw := answer.rawResult()
	if raw == nil && serverError(err) != nil && answer.isServerError(l.s) {
		return nil, "", requestFailed(method, err)
	} else if raw == nil {
		return nil, "", fmt.Errorf("%s: %w: %w", method, errLost, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	items, next, err = splitPage(raw, key, most)
	switch {
	case errors.Is(err, errLongPage):
		return nil, "", tooMany(kind)
	case err != nil:
		return nil, "", requestFailed(method, err)
	}
	return items, next, nil
}

var (
	errLongPage = errors.New("the page has more definitions than there is room for")
	errNoPage   = errors.New("not a list of the protocol")
)

// splitPage takes a page of a list apart: its definitions, which are the items of the
// member key, and where the next page is. It stops with errLongPage behind so many
// definitions, so that a long list of small items takes no memory.
func splitPage(page []byte, key string, most int) (items []json.RawMessage, next string, err error) {
	page = rawjson.Blank(page)
	if !json.Valid(page) || page[0] != '{' {
		return nil, "", errNoPage
	}
	var list, cursor []byte
	for rest := rawjson.Blank(page[1:]); rest[0] != '}'; {
		var name, value []byte
		if name, value, rest, err = rawjson.Next(rest); err != nil {
			return nil, "", errNoPage
		}
		switch string(name) {
		case key:
			list = value
		case "nextCursor":
			cursor = value
		}
	}
	if cursor != nil && json.Unmarshal(cursor, &next) != nil {
		return nil, "", errNoPage
	}
	if list == nil || string(list) == "null" {
		return nil, next, nil
	}
	if list[0] != '[' {
		return nil, "", errNoPage
	}
	for rest := rawjson.Blank(list[1:]); rest[0] != ']'; {
		if len(items) == most {
			return nil, "", errLongPage
		}
		var item []byte
		item, rest = rawjson.NextItem(rest)
		items = append(items, bytes.Clone(item)) // without the rest of the page
	}
	return items, next, nil
}

func unknownMethod(err error) bool {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && e.Code == jsonrpc.CodeMethodNotFound
}

// decodeGreeting reads a server's description of itself from its first answer, in
// either generation of the protocol.
func decodeGreeting(raw json.RawMessage) (identity json.RawMessage, instructions string) {
	var hello map[string]json.RawMessage
	if json.Unmarshal(raw, &hello) != nil {
		return nil, ""
	}
	identity = hello["serverInfo"]
	if identity == nil {
		var meta map[string]json.RawMessage
		_ = json.Unmarshal(hello["_meta"], &meta)
		identity = meta[mcp.MetaKeyServerInfo]
	}
	_ = json.Unmarshal(hello["instructions"], &instructions)
	return identity, instructions
}

func (n *serverListing) addDefinitions(kind Kind, raws []json.RawMessage) {
	before := n.values
	n.all[kind] = raws
	for _, raw := range raws {
		d := newOffering(kind, raw)
		if n.values += valuesIn(d.tree); n.values > maxValues {
			n.values = before
			n.dropKind(kind, fmt.Errorf("its lists have more than %d values", maxValues))
			return
		}
		switch before := n.byKey[d.definitionKey]; {
		case d.key == "":
			d.tree = nil // it is not used any more
			n.nameless = append(n.nameless, d)
		case before != nil:
			before.fault = "the server offers two of this name"
		default:
			d.fault = cmp.Or(d.fault, d.unfitReason())
			n.byKey[d.definitionKey] = d
			n.known = append(n.known, d)
		}
	}
	slices.SortStableFunc(n.known, func(a, b *offering) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds[:], a.kind), slices.Index(kinds[:], b.kind)), cmp.Compare(a.key, b.key))
	})
}

func valuesIn(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			n += valuesIn(item)
		}
	case []any:
		for _, item := range v {
			n += valuesIn(item)
		}
	}
	return n
}

func (n *serverListing) dropKind(kind Kind, why error) {
	n.failed[kind] = why.Error()
	delete(n.all, kind)
	n.known = slices.DeleteFunc(n.known, func(d *offering) bool { return d.kind == kind })
	for t := range n.byKey {
		if t.kind == kind {
			delete(n.byKey, t)
		}
	}
}

// rejected is the library's code for a request that was not delivered.
const rejected = -32005

// serverError returns the error with which a server answered. It returns nil when
// the request was not delivered or was refused on this side.
func serverError(err error) *jsonrpc.Error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if _, refused := errors.AsType[*sallyport.Error](err); !ok || refused || e.Code == rejected && e.Message == "rejected by transport" {
		return nil
	}
	return e
}

// requestFailed is the error of a request without a usable answer.
func requestFailed(method string, err error) error {
	text := err.Error()
	if e := serverError(err); e != nil {
		text = e.Message
	}
	return &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: method + ": " + text, Err: err}
}
