package lock

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/output"
)

// maxKey bounds the name or URI of a definition in bytes. The protocol asks
// for names of at most 128 characters; URIs are longer.
const maxKey = 2048

// maxOffers bounds the definitions of one kind that a server lists: several
// times what any known one has, and what the file can hold.
const maxOffers = 2000

var (
	errNotObject = errors.New("must be an object")
	errHidden    = errors.New("holds characters that are not shown, or a secret")
)

// Offer is what a server is and lists now, as it came: nothing in it has been
// cleaned.
type Offer struct {
	Launch
	// Identity is the object in which the server names itself, serverInfo;
	// nil when it was not asked.
	Identity json.RawMessage
	// Instructions is the text that the server wants models to read.
	Instructions string
	// Tools are the objects of tools/list.
	Tools []json.RawMessage
	// Resources are the objects of resources/list.
	Resources []json.RawMessage
	// Templates are the objects of resources/templates/list.
	Templates []json.RawMessage
	// Prompts are the objects of prompts/list.
	Prompts []json.RawMessage
}

// definitionsOf returns the definitions of one kind.
func (o *Offer) definitionsOf(k Kind) []json.RawMessage {
	switch k {
	case KindTool:
		return o.Tools
	case KindResource:
		return o.Resources
	case KindTemplate:
		return o.Templates
	case KindPrompt:
		return o.Prompts
	default:
		return nil
	}
}

// Refused is a definition that cannot be pinned. The others of its server
// can.
type Refused struct {
	// Kind says what it would define.
	Kind Kind
	// Name is its name, cleaned; empty when that is not known.
	Name string
	// Why says what is wrong, in words that are safe to show.
	Why string
}

// Take brings the offer of a server into the form of the file. The cleaner
// decides what the file shows, never what a digest is of; it should know the
// secrets that the server was given, so that one which the server repeats is
// not written down. nil means a cleaner that knows none.
//
// A definition that is not a bounded JSON object, hides characters in its name
// or in the name of a field, or has the name of another one is refused by
// itself. The error is about the server as a whole: its name or launch.
func Take(server string, o *Offer, c *output.Cleaner) (Server, []Refused, error) {
	if c == nil {
		c = output.Plain()
	}
	if err := CheckServer(server); err != nil {
		return Server{}, nil, err
	}
	launch, err := o.Launch.normalized(c)
	if err != nil {
		return Server{}, nil, fmt.Errorf("server %s: %w", server, err)
	}
	s := Server{Launch: launch}
	var refused []Refused
	if s.Identity, err = pinIdentity(o, c); err != nil {
		refused = append(refused, Refused{Kind: KindServer, Name: server, Why: err.Error()})
	}
	for _, k := range offered {
		pins, bad := pinDefinitions(server, k, o.definitionsOf(k), c)
		refused = append(refused, bad...)
		if len(pins) > 0 {
			*s.pinsOf(k) = pins
		}
	}
	return s, refused, nil
}

// pinIdentity pins what a server says about itself.
func pinIdentity(o *Offer, c *output.Cleaner) (*Pin, error) {
	if o.Identity == nil && o.Instructions == "" {
		return nil, nil
	}
	m := map[string]any{}
	if o.Identity != nil {
		var err error
		if m, err = decodeObject(o.Identity); err != nil {
			return nil, err
		}
	}
	const key = "instructions"
	if _, ok := m[key]; ok {
		return nil, errors.New("serverInfo holds a field instructions, which has a place of its own")
	}
	if o.Instructions != "" {
		m[key] = o.Instructions
	}
	p, err := newPin(m, c)
	if err != nil {
		return nil, err
	}
	return &p, nil
}

// pinDefinitions pins the definitions of one kind. Of two with one name neither is
// taken: it is not known which of them a call would mean.
func pinDefinitions(server string, k Kind, list []json.RawMessage, c *output.Cleaner) (map[string]Pin, []Refused) {
	pins := make(map[string]Pin, len(list))
	twice := map[string]bool{}
	var refused []Refused
	if len(list) > maxOffers {
		refused = append(refused, Refused{Kind: k, Why: fmt.Sprintf("more than %d are listed; the others are left out", maxOffers)})
		list = list[:maxOffers]
	}
	for _, raw := range list {
		name, p, err := pinDefinition(server, k, raw, c)
		if _, dup := pins[name]; dup && err == nil {
			twice[name] = true
			err = errors.New("is listed twice")
		}
		if err != nil {
			refused = append(refused, Refused{Kind: k, Name: truncateName(string(c.Text(name))), Why: err.Error()})
			continue
		}
		pins[name] = p
	}
	for name := range twice {
		delete(pins, name)
	}
	return pins, refused
}

// pinDefinition pins one definition and returns its key.
func pinDefinition(server string, k Kind, raw json.RawMessage, c *output.Cleaner) (string, Pin, error) {
	m, err := decodeObject(raw)
	if err != nil {
		return "", Pin{}, err
	}
	name, _ := m[k.Key()].(string)
	switch {
	case name == "":
		return "", Pin{}, fmt.Errorf("has no %s", k.Key())
	case len(name) > maxKey:
		return "", Pin{}, fmt.Errorf("%s is longer than %d bytes", k.Key(), maxKey)
	case !c.Accepts(name):
		return name, Pin{}, fmt.Errorf("%s %w", k.Key(), errHidden)
	}
	p, err := newPin(m, c)
	if err == nil && k == KindTool {
		p.Name, err = MapName(server, name)
	}
	return name, p, err
}

// newPin cleans a decoded definition field by field.
func newPin(m map[string]any, c *output.Cleaner) (Pin, error) {
	p := Pin{SHA256: digestOf(m)}
	clean := make(map[string]any, len(m))
	for field, v := range m {
		if !c.Accepts(field) {
			return Pin{}, fmt.Errorf("the name of a field %w", errHidden)
		}
		clean[field] = c.Value(v)
		was, is := digestOf(v), digestOf(clean[field])
		if was != is {
			if p.Hidden == nil {
				p.Hidden = map[string]string{}
			}
			p.Hidden[field] = was
		}
	}
	var err error
	p.Definition, err = canonicalJSON(clean)
	return p, err
}

// normalized returns a checked copy of a launch whose sets are sorted. What an
// operator wrote must not need cleaning: it would be compared in another form
// than it is run.
func (l Launch) normalized(c *output.Cleaner) (Launch, error) {
	if !l.Transport.Valid() {
		return Launch{}, fmt.Errorf("transport %q: expected stdio, http, sse or wasm", truncateName(string(c.Text(string(l.Transport)))))
	}
	if u, err := url.Parse(l.URL); err != nil || u.User != nil {
		return Launch{}, errors.New("url: expected a URL without user info")
	}
	if i := slices.IndexFunc(l.Env, func(s string) bool { return !reach.IsEnvName(s) }); i >= 0 {
		// What is not repeated may be a name with its value.
		return Launch{}, fmt.Errorf("env: entry %d is not the name of an environment variable", i+1)
	}
	l.Command = slices.Clone(l.Command)
	l.Env = sortedSet(l.Env)
	l.Capabilities = group.Normal(&l.Capabilities)
	if len(l.Command) == 0 {
		l.Command = nil
	}
	if l.Binary != nil {
		l.Binary = new(*l.Binary)
	}
	l.Programs, l.Package = normalizePrograms(l.Programs), l.Package.clone()
	v, err := toJSONValue(&l)
	if err != nil {
		return Launch{}, err
	}
	if digestOf(c.Value(v)) != digestOf(v) {
		return Launch{}, fmt.Errorf("the launch %w", errHidden)
	}
	return l, nil
}

// normalizePrograms returns a sorted copy without repetitions, nil for none.
func normalizePrograms(list []Binary) []Binary {
	list = slices.SortedFunc(slices.Values(list), func(a, b Binary) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.SHA256, b.SHA256))
	})
	return slices.Compact(list)
}

// sortedSet returns the sorted distinct entries, nil for none.
func sortedSet[T ~string](list []T) []T {
	return slices.Sorted(maps.Keys(setOf(list)))
}

func setOf[T ~string](list []T) map[T]bool {
	m := make(map[T]bool, len(list))
	for _, s := range list {
		m[s] = true
	}
	return m
}
