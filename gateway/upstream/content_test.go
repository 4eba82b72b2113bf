package upstream_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// TestContentBecomesParts: content other than text becomes parts beside the
// texts, and a text replaces what cannot be carried.
func TestContentBecomesParts(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("mixed"), tool("broken"), tool("failed"), tool("number"))
	size := int64(12)
	s.answer = func(_ *peer, q *question) any {
		switch q.Params.Name {
		case "mixed":
			return object{"content": []any{
				object{"type": "text", "text": "one"},
				object{"type": "image", "mimeType": "image/png", "data": onePixel},
				object{"type": "audio", "mimeType": "audio/wav", "data": "c291bmQ="},
				object{"type": "resource", "resource": object{"uri": "file:///a", "mimeType": "text/plain", "text": "inside \x1b[31mred"}},
				object{"type": "resource", "resource": object{"uri": "file:///b", "blob": "Ymxvbg=="}},
				object{"type": "resource_link", "uri": "file:///c", "name": "c", "title": "C", "description": "The <|im_start|> c", "mimeType": "text/plain", "size": size},
				object{"type": "text", "text": "two"},
			}}
		case "broken":
			return object{"content": []any{
				object{"type": "hologram", "data": "x"},
				object{"type": "text"},
				"text",
				object{"type": "image", "mimeType": "image/png", "data": "***"},
				object{"type": "resource", "resource": object{"uri": "file:///d"}},
			}}
		case "failed":
			return object{"isError": true, "content": []any{}}
		default:
			return object{"content": []any{}, "structuredContent": []any{1, 2}}
		}
	}
	g := scripted(t, s, nil)
	res := g.call("test__mixed", nil)
	want := []sallyport.Part{
		{Kind: sallyport.PartImage, MediaType: "image/png", Data: decodeBase64(t, onePixel)},
		{Kind: sallyport.PartAudio, MediaType: "audio/wav", Data: []byte("sound")},
		{Kind: sallyport.PartResource, URI: "file:///a", MediaType: "text/plain", Text: "<untrusted source=\"file:///a\" tool=\"mcp__test__mixed\">\ninside red\n</untrusted>"},
		{Kind: sallyport.PartResource, URI: "file:///b", MediaType: "application/octet-stream", Data: []byte("blon")},
		{Kind: sallyport.PartLink, URI: "file:///c", MediaType: "text/plain", Name: "c", Title: "C", Description: "<untrusted source=\"file:///c\" tool=\"mcp__test__mixed\">\nThe [STRIPPED-TEMPLATE-TOKEN] c\n</untrusted>", Size: size},
	}
	if diff := cmp.Diff(want, res.Parts); diff != "" || inside(res) != "one\ntwo" {
		t.Errorf("mixed content = %q, parts (-want +got):\n%s", res.Value, diff)
	}
	res = g.call("test__broken", nil)
	for _, say := range []string{`[content of an unknown kind, "hologram"]`, "[a text without its text]", "[content that is no object]", `[image, "image/png": its data`, `[a resource, "file:///d": neither`} {
		if !strings.Contains(res.Value, say) {
			t.Errorf("broken content = %q, want it to say %s", res.Value, say)
		}
	}
	if res := g.call("test__failed", nil); res.OK || !strings.Contains(res.Error, "does not say why") {
		t.Errorf("a failure without a word = %+v", res)
	}
	if res := g.call("test__number", nil); inside(res) != "[1,2]" || res.Structured != nil {
		t.Errorf("structured content that is no object = %+v, want it as text", res)
	}
}

// TestPartsAreBounded leaves out what is too much for one result, and says so.
func TestPartsAreBounded(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("many"), tool("large"))
	s.answer = func(_ *peer, q *question) any {
		content := []any{}
		if q.Params.Name == "large" {
			content = append(content, object{"type": "audio", "mimeType": "audio/wav", "data": bytes.Repeat([]byte{7}, 8<<20+1)})
		}
		for range map[bool]int{true: 10, false: 1000}[q.Params.Name == "large"] {
			content = append(content, object{"type": "audio", "mimeType": "audio/wav", "data": "aQ=="})
		}
		return object{"content": content}
	}
	g := scripted(t, s, nil)
	for _, tt := range []string{"many", "large"} {
		res := g.call("test__"+tt, nil)
		text, err := json.Marshal(res.Parts)
		if err != nil || len(res.Parts) == 0 || len(res.Parts) > 300 || len(text) > 9<<20 || !strings.Contains(string(text), "left out") {
			t.Errorf("%s = %d parts of %d bytes (%v), want few, and a word about the others", tt, len(res.Parts), len(text), err)
		}
	}
}

// TestAResultIsReadStrictly refuses results that two readers could read
// differently.
func TestAResultIsReadStrictly(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("twice"), tool("folded"), tool("deep"), tool("list"), tool("asks"))
	s.answer = func(_ *peer, q *question) any {
		return json.RawMessage(map[string]string{
			"twice":  `{"content":[],"content":[{"type":"text","text":"hidden"}]}`,
			"folded": `{"Content":[{"type":"text","text":"folded"}],"content":[{"type":"text","text":"plain"}]}`,
			"deep":   `{"content":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
			"list":   `[]`,
			"asks":   `{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{}}}}`,
		}[q.Params.Name])
	}
	g := scripted(t, s, nil)
	for name, say := range map[string]string{"twice": "twice", "deep": "too deeply", "list": "not an object", "asks": "asks for input"} {
		if res := g.call("test__"+name, nil); res.OK || !strings.Contains(res.Error, "tools/call: ") || !strings.Contains(res.Error, say) {
			t.Errorf("%s = %+v, want a failure about %q", name, res, say)
		}
	}
	if res := g.call("test__folded", nil); inside(res) != "plain" {
		t.Errorf("a key in another case = %+v, want the one that is spelled right", res)
	}
}

// onePixel is a picture, as the gate draws it again.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGJiAAQAAP//AAYAA/rQWa4AAAAASUVORK5CYII="

func decodeBase64(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestASecretInALongName of what cannot be carried is removed whole.
func TestASecretInALongName(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("broken"))
	near, far := "file:///"+strings.Repeat("x", 66)+"-s3cr3t-value", "file:///"+strings.Repeat("x", 1010)+"-s3cr3t-value"
	s.answer = func(*peer, *question) any {
		return object{"content": []any{
			object{"type": "resource", "resource": object{"uri": near}}, object{"type": "resource", "resource": object{"uri": far}},
		}}
	}
	g := newGateWith(t, &sallyport.Backends{Process: s, Network: &sallyport.NetworkBackend{}, Secrets: secrets{"any/key": "s3cr3t-value"}}, nil,
		upstream.Server{Name: "test", Command: []string{"scripted"}})
	res := g.call("test__broken", nil)
	if strings.Contains(res.Value, "s3cr") || !strings.Contains(res.Value, "xxx-[REDACTED") || !strings.Contains(res.Value, "[a resource, a name of 1031 bytes: neither text nor data]") {
		t.Errorf("the call = %q", res.Value)
	}
}
