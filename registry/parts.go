package registry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
)

// maxParts bounds the parts of one result: more than a screen of pictures, and
// more messages than a prompt has.
const maxParts = 256

// maxPartName bounds the name and the title of a link, in code points.
const maxPartName = 256

// unknownBytes is the media type of data of which nothing is known.
const unknownBytes = "application/octet-stream"

// requestedURI returns the URI that a call of FormResource reads; empty
// otherwise.
func (c *call) requestedURI() string {
	if c.entry.tool.Form != sallyport.FormResource {
		return ""
	}
	uri, _ := c.doc.Value["uri"].(string)
	return uri
}

// checkParts checks the parts of a result against the tool's form, and copies
// them well formed and bounded. What does not fit gives way to a text that
// says so.
func (c *call) checkParts(ctx context.Context) {
	form := c.entry.tool.Form
	switch {
	case form == sallyport.FormTool && c.result.Parts == nil:
		return
	case form != sallyport.FormTool && !c.result.OK:
		c.result.Parts = nil
		return
	}
	if why := misfitReason(form, c.requestedURI(), &c.result); why != "" {
		c.replaceBroken("The tool returned what a " + string(form) + " cannot be: " + why)
		return
	}
	given := c.result.Parts
	most := min(len(given), maxParts)
	out, left, lost := make([]sallyport.Part, most), c.r.o.PartBytes, 0
	drawing := pictureDrawing{ctx: ctx, principal: c.caller.Principal.Name}
	defer drawing.endDrawing()
	for i := range out {
		part, why := partOfKind(&given[i], left)
		if why == "" {
			why = drawing.redrawPicture(&part, left)
		}
		if more := len(given) - most; more > 0 && i == most-1 {
			why = fmt.Sprintf("%d parts were left out: a result has at most %d", more+1, maxParts)
		}
		if why != "" {
			part = c.omittedPart(&given[i], why)
			lost++
		}
		if form == sallyport.FormTool {
			part.Role = ""
		}
		left -= len(part.Data)
		out[i] = part
	}
	c.result.Parts = out
	c.noteLostParts(lost + len(given) - most)
}

// noteLostParts notes for the operator how many parts the caller did not get.
func (c *call) noteLostParts(n int) {
	if n > 0 {
		c.addDecision(sallyport.Decision{
			Step: sallyport.StepReturns, Allowed: true, Why: fmt.Sprintf("%d parts of the result were left out", n),
		})
	}
}

func (c *call) omittedPart(p *sallyport.Part, why string) sallyport.Part {
	out := sallyport.Part{Kind: sallyport.PartText, Role: p.Role, Text: "[" + why + "]"}
	if uri := c.requestedURI(); uri != "" {
		out.Kind, out.URI, out.MediaType = sallyport.PartResource, uri, "text/plain"
	}
	return out
}

// misfitReason says why parts do not fit the form of a tool; "" when they do.
func misfitReason(form sallyport.Form, asked string, res *sallyport.Result) string {
	if form == sallyport.FormTool {
		return ""
	}
	if len(res.Parts) == 0 && res.Value != "" {
		return "a text and no parts"
	}
	for i := range res.Parts {
		p := &res.Parts[i]
		switch form {
		case sallyport.FormPrompt:
			if p.Role != sallyport.RoleUser && p.Role != sallyport.RoleAssistant {
				return fmt.Sprintf("part %d has no role: expected user or assistant", i)
			}
		case sallyport.FormResource:
			if p.Kind != sallyport.PartResource {
				return fmt.Sprintf("part %d is no resource", i)
			}
			if !isURIUnder(asked, p.URI) {
				return fmt.Sprintf("part %d is neither the URI that was asked for nor under it", i)
			}
		default:
			return "the form is not known"
		}
	}
	return ""
}

// isURIUnder reports whether a URI is the one that was asked for, or below it
// by whole segments without a step up.
func isURIUnder(asked, uri string) bool {
	if uri == asked {
		return true
	}
	if asked == "" || strings.ContainsAny(asked, "?#") {
		return false
	}
	rest, ok := strings.CutPrefix(uri, strings.TrimSuffix(asked, "/")+"/")
	if !ok {
		return false
	}
	for segment := range strings.FieldsFuncSeq(rest, func(r rune) bool { return strings.ContainsRune(`/\?#`, r) }) {
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".", "..":
			return false
		}
	}
	return true
}

// partOfKind returns a copy of a part that has only what counts for its kind,
// or why there is none. left is how many bytes of data may still come.
func partOfKind(p *sallyport.Part, left int) (out sallyport.Part, why string) {
	out = sallyport.Part{Kind: p.Kind, Role: p.Role}
	switch p.Kind {
	case sallyport.PartText:
		out.Text = p.Text
		return out, ""
	case sallyport.PartImage, sallyport.PartAudio:
		out.MediaType = mediaType(p.MediaType)
		if !strings.HasPrefix(strings.ToLower(out.MediaType), string(p.Kind)+"/") {
			return out, fmt.Sprintf("%d bytes were left out: their media type is none of %s", len(p.Data), p.Kind)
		}
		return attachData(out, p.Data, left)
	case sallyport.PartResource:
		return resourcePart(p, left)
	case sallyport.PartLink:
		out.URI, out.Name, out.Title, out.Description = p.URI, p.Name, p.Title, p.Description
		out.MediaType, out.Size = mediaType(p.MediaType), max(p.Size, 0)
		return out, uriFault(p)
	default:
		return out, "a part of an unknown kind was left out"
	}
}

// resourcePart is partOfKind for a resource. A text is cleaned and bounded as
// one, however it was sent.
func resourcePart(p *sallyport.Part, left int) (out sallyport.Part, why string) {
	out = sallyport.Part{Kind: p.Kind, Role: p.Role, URI: p.URI, Text: p.Text, MediaType: mediaType(p.MediaType)}
	shown := isPicture(out.MediaType)
	switch why = uriFault(p); {
	case why != "" || len(p.Data) == 0:
		if shown {
			out.MediaType = "text/plain" // a text is no picture
		}
		return out, why
	case p.Text != "":
		return out, "a resource was left out: it is text and data at once"
	case isTextual(out.MediaType) && !shown && len(p.Data) <= left:
		out.Text = decodeText(p.Data)
		return out, ""
	}
	out.MediaType = cmp.Or(out.MediaType, unknownBytes)
	return attachData(out, p.Data, left)
}

// decodeText decodes bytes that are said to be a text: as UTF-16 when they
// begin like that, else as UTF-8, and what is neither is replaced. As data it
// would go past the cleaning of texts.
func decodeText(data []byte) string {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return strings.ToValidUTF8(string(data), string(utf8.RuneError))
	}
	units := make([]uint16, 0, len(data)/2)
	for data = data[2:]; len(data) > 1; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	return string(utf16.Decode(units))
}

// uriFault says why a part with this URI is left out; "" when it is not.
func uriFault(p *sallyport.Part) string {
	if p.URI == "" || len(p.URI) > maxURI {
		return fmt.Sprintf("a %s was left out: its URI is empty or too long", p.Kind)
	}
	return ""
}

// attachData attaches a copy of its data to a part when there is room for it.
func attachData(out sallyport.Part, data []byte, left int) (_ sallyport.Part, why string) {
	if len(data) > left {
		return out, fmt.Sprintf("%d bytes of %s were left out: too much for one result", len(data), out.MediaType)
	}
	out.Data = bytes.Clone(data)
	return out, ""
}

// isTextual reports whether data of a media type is read as text.
func isTextual(mediaType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	kind = strings.TrimSpace(kind)
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "/json") || strings.HasSuffix(kind, "+json") ||
		strings.HasSuffix(kind, "/xml") || strings.HasSuffix(kind, "+xml")
}

// cloneParts returns parts that share nothing that could be written to.
func cloneParts(parts []sallyport.Part) []sallyport.Part {
	out := slices.Clone(parts)
	for i := range out {
		out[i].Data = bytes.Clone(out[i].Data)
	}
	return out
}

// partsSize returns the number of parts and the bytes of their text and data.
func partsSize(parts []sallyport.Part) (n int, size int64) {
	for i := range parts {
		size += int64(len(parts[i].Text) + len(parts[i].Data))
	}
	return len(parts), size
}
