package wire

import (
	"encoding/base64"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// AppendContent appends the content of a result: the text of its value or
// failure, followed by its parts. It writes no empty text before parts that
// come without a value.
func AppendContent(out []byte, text string, parts []sallyport.Part) []byte {
	out = append(out, '[')
	if text != "" || len(parts) == 0 {
		out = append(rawjson.AppendText(append(out, `{"type":"text","text":`...), text), '}')
	}
	for i := range parts {
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out = AppendPart(out, &parts[i])
	}
	return append(out, ']')
}

// AppendPart appends one part. The gate returns no other kinds of parts.
func AppendPart(out []byte, p *sallyport.Part) []byte {
	switch p.Kind {
	case sallyport.PartImage, sallyport.PartAudio:
		out = append(append(append(out, `{"type":"`...), p.Kind...), `","mimeType":`...)
		out = appendData(append(rawjson.AppendText(out, p.MediaType), `,"data":`...), p.Data)
	case sallyport.PartResource:
		out = AppendContents(append(out, `{"type":"resource","resource":`...), p)
	case sallyport.PartLink:
		name := p.Name
		if name == "" {
			name = p.URI // the protocol requires one
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

// AppendContents appends the contents of a resource: bytes when there are any,
// else text.
func AppendContents(out []byte, p *sallyport.Part) []byte {
	out = rawjson.AppendText(append(out, `{"uri":`...), p.URI)
	out = appendMember(out, "mimeType", p.MediaType)
	if p.Data != nil {
		out = appendData(append(out, `,"blob":`...), p.Data)
	} else {
		out = rawjson.AppendText(append(out, `,"text":`...), p.Text)
	}
	return append(out, '}')
}

// appendMember appends a member, unless its text is empty.
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
