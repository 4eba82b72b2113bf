package registry

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/internal/provenance"
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
	t := &c.entry.tool
	places := concernNothing
	if len(t.Destinations) > 0 {
		places = concernPlaces
	}
	switch {
	case effect.CarriesOut(t.Does):
		return concernArguments
	case effect.IsFinal(t.Does):
		return concernCall
	case len(t.Does) > 0:
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

// beginRead says that the call may bring untrusted content.
func (c *call) beginRead() {
	if c.facts.Untrusted {
		c.reading = true
		c.r.conversations.Reads.Begin(c.caller.Principal.Name, c.caller.Session, c.id)
	}
}

// endRead says that the call brings nothing more.
func (c *call) endRead() {
	if c.reading {
		c.r.conversations.Reads.End(c.caller.Principal.Name, c.caller.Session, c.id)
	}
}

// rememberRead remembers what the call brings into its conversation from an untrusted
// source, before anything of it is returned.
func (c *call) rememberRead() {
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

// rememberSaid remembers what the call tells its caller while it runs.
func (c *call) rememberSaid(texts ...string) {
	if c.reading {
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
