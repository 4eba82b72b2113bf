package gateway

import (
	"encoding/base64"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// appendContent writes the pieces of a result: the text of its value, or of its
// failure, and its parts. Parts that come without a value need no empty text
// before them.
func appendContent(out []byte, text string, parts []sallyport.Part) []byte {
	out = append(out, '[')
	if text != "" || len(parts) == 0 {
		out = append(rawjson.AppendText(append(out, `{"type":"text","text":`...), text), '}')
	}
	for i := range parts {
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out = appendPart(out, &parts[i])
	}
	return append(out, ']')
}

// appendPart writes one part. The gate hands out no other kinds than these.
func appendPart(out []byte, p *sallyport.Part) []byte {
	switch p.Kind {
	case sallyport.PartImage, sallyport.PartAudio:
		out = append(append(append(out, `{"type":"`...), p.Kind...), `","mimeType":`...)
		out = appendData(append(rawjson.AppendText(out, p.MediaType), `,"data":`...), p.Data)
	case sallyport.PartResource:
		out = appendContents(append(out, `{"type":"resource","resource":`...), p)
	case sallyport.PartLink:
		name := p.Name
		if name == "" {
			name = p.URI // the protocol wants one
		}
		out = rawjson.AppendText(append(out, `{"type":"resource_link","uri":`...), p.URI)
		out = appendMember(out, "name", name)
		out = appendMember(out, "title", p.Title)
		out = appendMember(out, "description", p.Description)
		out = appendMember(out, "mimeType", p.MediaType)
		if p.Size > 0 {
			out = strconv.AppendInt(append(out, `,"size":`...), p.Size, 10)
		}
	case sallyport.PartText:
		out = rawjson.AppendText(append(out, `{"type":"text","text":`...), p.Text)
	default:
		out = append(out, `{"type":"text","text":""`...)
	}
	return append(out, '}')
}

// appendContents writes what is behind a URI: bytes when there are some, else
// text.
func appendContents(out []byte, p *sallyport.Part) []byte {
	out = rawjson.AppendText(append(out, `{"uri":`...), p.URI)
	out = appendMember(out, "mimeType", p.MediaType)
	if p.Data != nil {
		out = appendData(append(out, `,"blob":`...), p.Data)
	} else {
		out = rawjson.AppendText(append(out, `,"text":`...), p.Text)
	}
	return append(out, '}')
}

// appendMember writes a member that is left out when it is empty.
func appendMember(out []byte, key, text string) []byte {
	if text == "" {
		return out
	}
	out = append(append(append(out, `,"`...), key...), `":`...)
	return rawjson.AppendText(out, text)
}

func appendData(out, data []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(out, '"'), data), '"')
}

// written is a piece of content in its final form, so that one writer serves
// answers that are direct and those of the protocol library. The library's own
// type lends it what makes a content.
type written struct {
	*mcp.TextContent
	text []byte
}

// MarshalJSON returns the text.
func (w written) MarshalJSON() ([]byte, error) { return w.text, nil }

// contents is what [appendContent] writes, for the library.
func contents(text string, parts []sallyport.Part) []mcp.Content {
	out := make([]mcp.Content, 0, len(parts)+1)
	if text != "" || len(parts) == 0 {
		out = append(out, &mcp.TextContent{Text: text})
	}
	for i := range parts {
		out = append(out, written{text: appendPart(nil, &parts[i])})
	}
	return out
}
