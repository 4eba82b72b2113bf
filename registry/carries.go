package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/provenance"
	"github.com/sallyport/sallyport/schema"
)

// flowConcern says what the default flow rule looks at in a call.
type flowConcern int

const (
	// concernNothing: the call neither carries something out nor is final.
	concernNothing flowConcern = iota
	// concernPlaces: it only reads, and what it reads may be a place that untrusted
	// content named.
	concernPlaces
	// concernArguments: what it carries out may have come out of untrusted content.
	concernArguments
	// concernCall: it cannot be taken back, so that no argument makes it harmless.
	concernCall
)

// flowConcern returns what the default flow rule looks at. What neither the tool nor
// the operator declares follows from what the call may touch.
func (c *call) flowConcern() flowConcern {
	t, does := &c.entry.tool, c.does()
	places := concernNothing
	if len(c.destinations()) > 0 {
		places = concernPlaces
	}
	switch {
	case effect.CarriesOut(does):
		return concernArguments
	case effect.IsFinal(does):
		return concernCall
	case len(does) > 0:
		return places
	case !c.facts.Outward && t.Server() == "":
		return concernNothing // the gate itself holds it to hosts that the operator listed
	case !c.facts.Outward:
		return places
	case (t.ReadOnly || t.SaysReadOnly) && places != concernNothing:
		return places
	default:
		return concernArguments
	}
}

// carried is what of a call's arguments came out of untrusted content.
type carried struct {
	pointer string
	match   provenance.Match
	// unknown is true when the session read more than is remembered.
	unknown bool
	// elsewhere is the call that read it, if this process does not know that.
	elsewhere string
	// key is the key of the role that rules it; empty when none does.
	key string
}

// findCarried returns the first argument, in the order of their names, that came out of
// the untrusted content that was read: with ruledOnly, the first that refuses the call.
func (c *call) findCarried(ctx context.Context, s *carrySearch) (*carried, error) {
	s.call, s.reading = c, &c.reads
	s.ctx = c.untilEnded(ctx)
	s.held = func(kind sallyport.ValueKind, exact string) bool {
		held, err := c.ownsValue(ctx, kind, exact)
		if err != nil && s.err == nil {
			s.err = err
		}
		return held
	}
	s.visit("", "", c.doc.Value)
	return s.found, s.err
}

// carrySearch goes through the arguments of a call.
type carrySearch struct {
	*call
	ctx     context.Context
	reading *provenance.Reading
	// placesOnly looks at destinations alone, ruledOnly at what the role has a word
	// about.
	placesOnly, ruledOnly bool

	held  provenance.Held
	found *carried
	// holding are all that ruledOnly found which hold the call, one for each word.
	holding []*carried
	err     error
}

// visit looks at a value. The path leaves out the places in lists, as destinations do.
func (s *carrySearch) visit(pointer, path string, v any) {
	if s.found != nil || s.err != nil {
		return
	}
	switch v := v.(type) {
	case string:
		s.visitText(pointer, path, v)
	case json.Number:
		s.visitText(pointer, path, string(v))
	case []any:
		for i := 0; i < len(v) && s.found == nil && s.err == nil; i++ {
			s.visit(fmt.Sprintf("%s/%d", pointer, i), path, v[i])
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !s.declares(name) {
				s.visitText(pointer+"/"+name, path, name) // the caller chose it like a value
			}
			s.visit(pointer+"/"+name, joinPath(path, name), v[name])
		}
	}
}

func joinPath(path, name string) string {
	if path == "" {
		return strings.TrimPrefix(name, ".")
	}
	return path + "." + name
}

// declares reports whether the schema of the tool names a property, anywhere.
func (c *call) declares(name string) bool { return c.entry.argumentNames().all[name] }

func (s *carrySearch) visitText(pointer, path, text string) {
	kind := s.kindOf(path)
	if s.placesOnly && kind == "" {
		return
	}
	action, key := s.untrustedAction(path)
	if action == ceiling.Allow || s.ruledOnly && action == "" {
		return
	}
	match, found, err := s.reading.Find(s.ctx, kind, text, s.held)
	switch {
	case s.err != nil:
	case err != nil:
		s.err = err
	case found:
		x := &carried{pointer: pointer, match: match, unknown: s.reading.Flooded(), elsewhere: s.reading.Elsewhere, key: key}
		if !s.ruledOnly || action == ceiling.Refuse {
			s.found = x
		} else if !slices.ContainsFunc(s.holding, func(o *carried) bool { return o.key == key }) {
			s.holding = append(s.holding, x) // another one may refuse the call
		}
	}
}

// argumentNames are the names of properties that the schema of a tool has.
type argumentNames struct {
	all        map[string]bool // anywhere
	properties []string        // of the arguments themselves
}

func (e *toolEntry) argumentNames() *argumentNames {
	e.namesOnce.Do(func() {
		e.names.all = map[string]bool{}
		if v, err := schema.Decode(e.args.Raw(), nil); err == nil {
			collectNames(e.names.all, v)
			if whole, ok := v.(map[string]any); ok {
				properties, _ := whole["properties"].(map[string]any)
				e.names.properties = slices.Sorted(maps.Keys(properties))
			}
		}
	})
	return &e.names
}

func collectNames(names map[string]bool, v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			collectNames(names, item)
		}
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name := range properties {
				names[name] = true
			}
		}
		for _, item := range v {
			collectNames(names, item)
		}
	}
}

// reason says what of the arguments came from where, for those who decide.
func (x *carried) reason(c *call) string {
	switch unread := x.isUnread(); {
	case unread && x.elsewhere != "":
		return fmt.Sprintf("argument %s may have come out of untrusted content: this process does not know what call %s read, which it did not make or has forgotten", x.pointer, x.elsewhere)
	case unread:
		return "argument " + x.pointer + " may have come out of untrusted content, of which more was read than is remembered"
	}
	from := x.match.Source
	if from.CallID == "" { // of a past call
		return "argument " + x.pointer + " came out of untrusted content"
	}
	return fmt.Sprintf("argument %s came out of untrusted content (%s, call %s)", x.pointer, cleanWord(c.cleaner(), from.Tool), from.CallID)
}

// isUnread reports whether the argument counts only since not all that was read is known.
func (x *carried) isUnread() bool { return x.unknown && x.match.Source.CallID == "" }

// beginRead says that the call may bring untrusted content.
func (c *call) beginRead() {
	if c.facts.Untrusted {
		c.reading.Store(true)
		c.r.conversations.Reads.Begin(c.caller.Principal.Name, c.caller.Session, c.id)
	}
}

// endRead says that the call brings nothing more.
func (c *call) endRead() {
	if c.reading.Load() {
		c.r.conversations.Reads.End(c.caller.Principal.Name, c.caller.Session, c.id)
	}
}

// rememberRead remembers what the call brings into its conversation from an untrusted
// source, before anything of it is returned.
func (c *call) rememberRead(ctx context.Context) {
	if c.cleaned.rest.Untrusted && !c.facts.Untrusted {
		c.countLateRead(ctx)
	}
	if !c.facts.Untrusted || c.role.personality == nil || c.r.o.NoConversation {
		return
	}
	from := provenance.Source{Tool: c.q.Tool, CallID: c.id}
	res := &c.cleaned
	texts := []string{string(res.value), string(res.err), string(res.source)}
	unread := false
	for i := range res.parts {
		p := &res.parts[i]
		texts = append(texts, string(p.text), string(p.uri), string(p.name), string(p.title), string(p.description), p.rest.MediaType)
		if data := p.rest.Data; utf8.Valid(data) {
			texts = append(texts, string(data))
		} else {
			unread = true // a model may read a text in a picture
		}
	}
	texts = appendTexts(texts, res.rest.Structured)
	c.addRead(from, texts...)
	if unread {
		c.r.conversations.Reads.Flood(c.caller.Principal.Name, c.caller.Session)
	}
}

func (c *call) addRead(from provenance.Source, texts ...string) {
	c.r.conversations.Reads.Add(c.caller.Principal.Name, c.caller.Session, from, texts...)
}

// rememberSaid remembers what the call tells its caller while it runs, also from a
// goroutine that its tool left behind: see countLateRead.
func (c *call) rememberSaid(texts ...string) {
	c.said.Store(true)
	if c.reading.Load() {
		c.addRead(provenance.Source{Tool: c.q.Tool, CallID: c.id}, texts...)
	}
}

// appendTexts appends the texts of decoded JSON, and its names.
func appendTexts(texts []string, v any) []string {
	switch v := v.(type) {
	case string:
		texts = append(texts, v)
	case json.Number:
		texts = append(texts, string(v))
	case float64:
		texts = append(texts, strconv.FormatFloat(v, 'f', -1, 64))
	case []any:
		for _, item := range v {
			texts = appendTexts(texts, item)
		}
	case map[string]any:
		for name, item := range v {
			texts = appendTexts(append(texts, name), item)
		}
	}
	return texts
}
