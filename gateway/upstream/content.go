package upstream

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
)

// resultOf converts the answer of a tool into the gate's form: its texts become
// the value, everything else becomes parts.
func resultOf(tree map[string]any) sallyport.Result {
	var texts []string
	var parts []sallyport.Part
	content, _ := tree["content"].([]any)
	for _, item := range content {
		part := partOf(item)
		if part.Kind == sallyport.PartText {
			texts = append(texts, part.Text)
		} else {
			parts = append(parts, part)
		}
	}
	text := strings.Join(texts, "\n")
	structured, isObject := tree["structuredContent"].(map[string]any)
	if text == "" && !isObject && tree["structuredContent"] != nil {
		// The gate requires a structured result to be an object.
		if plain, err := json.Marshal(tree["structuredContent"]); err == nil {
			text = string(plain)
		}
	}
	if failed, _ := tree["isError"].(bool); failed {
		if text == "" && len(parts) == 0 {
			text = "the tool failed and does not say why"
		}
		out := sallyport.Err(text, sallyport.CodeExecutionFailed)
		out.Parts = parts
		return out
	}
	out := sallyport.OK(text)
	out.Structured, out.Parts = structured, parts
	return out
}

func promptMessages(tree map[string]any) sallyport.Result {
	out := sallyport.OK("")
	list, _ := tree["messages"].([]any)
	for _, item := range list {
		m, _ := item.(map[string]any)
		// The protocol has one piece of content in each message; some servers
		// send a list.
		content, several := m["content"].([]any)
		if !several {
			content = []any{m["content"]}
		}
		for _, piece := range content {
			part := partOf(piece)
			part.Role = sallyport.RoleUser
			if m["role"] == string(sallyport.RoleAssistant) {
				part.Role = sallyport.RoleAssistant
			}
			out.Parts = append(out.Parts, part)
		}
	}
	return out
}

func resourceContents(uri string, tree map[string]any) sallyport.Result {
	out := sallyport.OK("")
	list, _ := tree["contents"].([]any)
	for _, item := range list {
		part := resourceOf(item)
		if part.Kind != sallyport.PartResource {
			part = sallyport.Part{Kind: sallyport.PartResource, URI: uri, MediaType: "text/plain", Text: part.Text}
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

// partOf converts one piece of content. A text says so when the content cannot
// be carried.
func partOf(item any) sallyport.Part {
	m, ok := item.(map[string]any)
	if !ok {
		return textPart("content that is no object")
	}
	kind, _ := m["type"].(string)
	switch kind {
	case "text":
		text, ok := m["text"].(string)
		if !ok {
			return textPart("a text without its text")
		}
		return sallyport.Part{Kind: sallyport.PartText, Text: text}
	case "image", "audio":
		data, ok := bytesOf(m["data"])
		if !ok {
			return textPart("%s, %s: its data cannot be read", kind, quoteName(textOf(m, "mimeType")))
		}
		return sallyport.Part{Kind: sallyport.PartKind(kind), Data: data, MediaType: textOf(m, "mimeType")}
	case "resource":
		return resourceOf(m["resource"])
	case "resource_link":
		p := sallyport.Part{
			Kind: sallyport.PartLink, URI: textOf(m, "uri"), MediaType: textOf(m, "mimeType"),
			Name: textOf(m, "name"), Title: textOf(m, "title"), Description: textOf(m, "description"),
		}
		if n, ok := m["size"].(json.Number); ok {
			p.Size, _ = n.Int64()
		}
		return p
	default:
		return textPart("content of an unknown kind, %s", quoteName(kind))
	}
}

func resourceOf(item any) sallyport.Part {
	m, ok := item.(map[string]any)
	if !ok {
		return textPart("a resource without its contents")
	}
	p := sallyport.Part{Kind: sallyport.PartResource, URI: textOf(m, "uri"), MediaType: textOf(m, "mimeType")}
	if blob, ok := m["blob"]; ok {
		if p.Data, ok = bytesOf(blob); !ok {
			return textPart("a resource, %s: its data cannot be read", quoteName(p.URI))
		}
		return p
	}
	text, ok := m["text"].(string)
	if !ok {
		return textPart("a resource, %s: neither text nor data", quoteName(p.URI))
	}
	p.Text = text
	return p
}

// textOf returns a string member of an object; "" when there is none.
func textOf(m map[string]any, key string) string {
	s, _ := m[key].(string)
	return s
}

// bytesOf decodes base64. An empty text is no data.
func bytesOf(v any) ([]byte, bool) {
	s, ok := v.(string)
	if !ok {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(s)
	return data, err == nil
}

// textPart returns a text that replaces content which cannot be carried.
func textPart(format string, args ...any) sallyport.Part {
	return sallyport.Part{Kind: sallyport.PartText, Text: "[" + fmt.Sprintf(format, args...) + "]"}
}
