package registry

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/output"
)

// cleanedResult is a result whose texts the cleaner made. Nothing else leaves
// the gate: [call.recordOutcome] records and returns only this.
type cleanedResult struct {
	value, err, source output.Clean
	full               output.Clean // the value before the reducer, when that changed it
	parts              []cleanedPart
	rest               sallyport.Result // without the texts; Structured is clean
}

// cleanedPart is a part whose texts the cleaner made.
type cleanedPart struct {
	text, uri, name, title, description output.Clean
	rest                                sallyport.Part // without the texts
}

// cleanResult removes secrets, control sequences and template tokens from
// everything that leaves the gate.
func (c *call) cleanResult() {
	cl, raw := c.cleaner(), &c.result
	c.cleaned = cleanedResult{
		value: cl.Text(raw.Value), err: cl.Text(raw.Error), source: cl.Text(raw.Source), full: cl.Text(c.full),
		parts: c.cleanParts(cl), rest: *raw,
	}
	rest := &c.cleaned.rest
	rest.Value, rest.Error, rest.Source, rest.Parts = "", "", "", nil
	if raw.Structured != nil {
		rest.Structured, _ = cl.Value(raw.Structured).(map[string]any)
	}
}

// result returns the result in the form that callers get.
func (r *cleanedResult) result() sallyport.Result {
	out := r.rest
	out.Value, out.Error, out.Source = string(r.value), string(r.err), string(r.source)
	if r.parts != nil {
		out.Parts = make([]sallyport.Part, len(r.parts))
	}
	for i := range r.parts {
		p := &r.parts[i]
		out.Parts[i] = p.rest
		out.Parts[i].Text, out.Parts[i].URI = string(p.text), string(p.uri)
		out.Parts[i].Name, out.Parts[i].Title, out.Parts[i].Description = string(p.name), string(p.title), string(p.description)
	}
	return out
}

// cleanParts cleans every text of the parts. Data that holds a secret goes.
func (c *call) cleanParts(cl *output.Cleaner) []cleanedPart {
	if c.result.Parts == nil {
		return nil
	}
	lost := 0
	out := make([]cleanedPart, len(c.result.Parts))
	for i, p := range c.result.Parts {
		if cl.Holds(p.Data) {
			p = c.omittedPart(&p, fmt.Sprintf("%d bytes were left out: they hold a secret", len(p.Data)))
			lost++
		}
		out[i] = cleanPart(cl, p)
	}
	c.noteLostParts(lost)
	return out
}

// cleanPart cleans the texts of a part. Names and URIs are cleaned before they
// are put into their form, so that no half of a secret is left, and afterwards.
func cleanPart(cl *output.Cleaner, p sallyport.Part) cleanedPart {
	shorten := func(name string) output.Clean { return cl.Text(shortenName(string(cl.Text(name)))) }
	out := cleanedPart{
		text: cl.Text(p.Text), description: cl.Text(p.Description),
		name: shorten(p.Name), title: shorten(p.Title), uri: cl.Text(encodeURI(string(cl.Text(p.URI)))),
	}
	if string(cl.Text(p.MediaType)) != p.MediaType {
		p.MediaType = ""
	}
	p.Text, p.URI, p.Name, p.Title, p.Description = "", "", "", "", ""
	out.rest = p
	return out
}

// shortenName returns a name on one line, cut to what a name may have: it is
// shown as it is, and is no place for a text to a model.
func shortenName(name string) string { return text.Clip(text.OneLine(name), maxPartName) }

// encodeURI escapes what no URI can hold, so that it does not read as a text.
func encodeURI(uri string) string {
	var b strings.Builder
	for i := range len(uri) {
		if c := uri[i]; c <= ' ' || c == 0x7f || strings.IndexByte("\"<>", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (c *call) trimResult() {
	limit, res := c.limitChars(), &c.cleaned
	var cut, cutError bool
	res.value, cut = output.Trim(res.value, limit)
	res.err, cutError = output.Trim(res.err, limit)
	if len(res.parts) > 0 && c.trimParts(limit) {
		cut = true
	}
	if cut || cutError {
		c.addDecision(sallyport.Decision{Step: sallyport.StepTrim, Allowed: true, Why: fmt.Sprintf("cut to %d characters", limit)})
	}
}

// limitChars is the value's bound: the call's share of the batch and the
// tool's own bound.
func (c *call) limitChars() int {
	own := c.entry.tool.MaxResultChars
	if own == 0 || own > c.budget {
		return c.budget
	}
	return own
}

// trimParts cuts texts of the parts to what the value left of the call's
// characters, and reports whether it did. Names and URIs are never cut: from
// the first part for which there is no room, nothing follows but a text that
// says so.
func (c *call) trimParts(limit int) (cut bool) {
	res := &c.cleaned
	left := max(limit-countChars(res.value, res.err), 0)
	for i := range res.parts {
		p := &res.parts[i]
		left -= countChars(p.uri, p.name, p.title, p.description)
		if left < 0 {
			why := fmt.Sprintf("%d parts were left out: the result has no room for their names", len(res.parts)-i)
			*p = cleanPart(c.cleaner(), c.omittedPart(&p.rest, why))
			res.parts = res.parts[:i+1]
			return true
		}
		var short bool
		if p.text, short = output.Trim(p.text, left); short {
			cut, left = true, 0
			continue
		}
		left -= countChars(p.text)
	}
	return cut
}

func countChars(texts ...output.Clean) int {
	n := 0
	for _, t := range texts {
		n += utf8.RuneCountInString(string(t))
	}
	return n
}

// wrapUntrusted wraps a value or error that another party controls, and the
// texts of the parts beside it.
func (c *call) wrapUntrusted() {
	t, res := &c.entry.tool, &c.cleaned
	if !t.OutputIsUntrusted && !res.rest.Untrusted || c.bare || t.Form != sallyport.FormTool {
		return
	}
	source := res.source
	if source == "" {
		source = c.cleaner().Text(output.Source(c.q.Tool, c.doc.Value))
	}
	for i := range res.parts {
		p := &res.parts[i]
		for _, text := range [...]*output.Clean{&p.text, &p.description} {
			if *text != "" {
				*text = output.Wrap(*text, cmp.Or(p.uri, source), c.q.Tool)
			}
		}
	}
	switch {
	case res.rest.OK && res.value == "" && len(res.parts) > 0:
		// There is no value beside the parts to be marked.
	case res.rest.OK:
		res.value = output.Wrap(res.value, source, c.q.Tool)
	default:
		res.err = output.Wrap(res.err, source, c.q.Tool)
	}
}
