package registry_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

const secretValue = "hunter2-zq9xy7w"

// bringing is a tool of a form that answers with parts.
func bringing(form sallyport.Form, parts ...sallyport.Part) sallyport.Tool {
	t := sallyport.Tool{Name: "tool", Form: form, Run: returning(sallyport.Result{OK: true, Parts: parts}, nil)}
	if form == sallyport.FormResource {
		t.Resources = []sallyport.Resource{{Name: "n", URI: "mem:a"}}
	}
	return t
}

// partsOf calls such a tool in a gate that knows a secret.
func partsOf(t *testing.T, tool sallyport.Tool) (sallyport.Result, *gate) {
	t.Helper()
	g := newGateWith(t, nil, &sallyport.Backends{Secrets: fixedSecrets{"a/b": secretValue}})
	g.add(tool)
	args := "{}"
	if tool.Form == sallyport.FormResource {
		args = `{"uri":"mem:a"}`
		if tool.Resources[0].Template != "" {
			args = `{"uri":"mem:a?x=1"}`
		}
	}
	return call(g, tool.ID(), args), g
}

func sound(data string) sallyport.Part {
	return sallyport.Part{Kind: sallyport.PartAudio, MediaType: "audio/wav", Data: []byte(data)}
}

func message(text string) sallyport.Part {
	return sallyport.Part{Kind: sallyport.PartText, Role: sallyport.RoleUser, Text: text}
}

func TestPartsHaveWhatCountsForTheirKind(t *testing.T) {
	t.Parallel()
	full := func(kind sallyport.PartKind) sallyport.Part {
		return sallyport.Part{
			Kind: kind, Role: sallyport.RoleUser, Text: "t", MediaType: string(kind) + "/x", URI: "mem:a",
			Name: "n", Title: "ti", Description: "d", Size: 3,
		}
	}
	data := func(p sallyport.Part) sallyport.Part {
		p.Data = []byte("data")
		return p
	}
	text := func(s string) sallyport.Part { return sallyport.Part{Kind: sallyport.PartText, Text: s} }
	tests := []struct {
		name     string
		in, want sallyport.Part
	}{
		{"text", data(full(sallyport.PartText)), text("t")},
		{"image", data(full(sallyport.PartImage)), text("[a picture of 4 bytes was left out: it is no PNG, JPEG, GIF or WebP]")},
		{"audio", data(full(sallyport.PartAudio)), sallyport.Part{Kind: sallyport.PartAudio, MediaType: "audio/x", Data: []byte("data")}},
		{"an image that is a page", data(sallyport.Part{Kind: sallyport.PartImage, MediaType: "text/html"}), text("[4 bytes were left out: their media type is none of image]")},
		{"an image of no type", data(sallyport.Part{Kind: sallyport.PartImage}), text("[4 bytes were left out: their media type is none of image]")},
		{"an image of a broken type", data(sallyport.Part{Kind: sallyport.PartImage, MediaType: "image/png\r\nx: y"}), text("[4 bytes were left out: their media type is none of image]")},
		{"an image of a long type", data(sallyport.Part{Kind: sallyport.PartImage, MediaType: "image/" + strings.Repeat("x", 300)}), text("[4 bytes were left out: their media type is none of image]")},
		{"a sound of another type", data(sallyport.Part{Kind: sallyport.PartAudio, MediaType: "image/png"}), text("[4 bytes were left out: their media type is none of audio]")},
		{"resource", full(sallyport.PartResource), sallyport.Part{Kind: sallyport.PartResource, Text: "t", MediaType: "resource/x", URI: "mem:a"}},
		{"a binary resource", data(sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a"}), data(sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "application/octet-stream"})},
		{"a text sent as data", data(sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "Text/HTML; charset=utf-8"}), sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "Text/HTML; charset=utf-8", Text: "data"}},
		{"JSON sent as data", data(sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "application/ld+json"}), sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "application/ld+json", Text: "data"}},
		{
			"a text in no UTF-8",
			sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "text/plain", Data: []byte("a\xffb")},
			sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "text/plain", Text: "a\ufffdb"},
		},
		{"a resource of a broken type", sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "x", Text: "t"}, sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", Text: "t"}},
		{"a resource of both", data(full(sallyport.PartResource)), text("[a resource was left out: it is text and data at once]")},
		{"a resource without a URI", sallyport.Part{Kind: sallyport.PartResource, Text: "t"}, text("[a resource was left out: its URI is empty or too long]")},
		{"link", data(full(sallyport.PartLink)), sallyport.Part{Kind: sallyport.PartLink, MediaType: "link/x", URI: "mem:a", Name: "n", Title: "ti", Description: "d", Size: 3}},
		{"a link of a negative size", sallyport.Part{Kind: sallyport.PartLink, URI: "mem:a", Size: -1}, sallyport.Part{Kind: sallyport.PartLink, URI: "mem:a"}},
		{"a link with a long URI", sallyport.Part{Kind: sallyport.PartLink, URI: "mem:" + strings.Repeat("a", 9000)}, text("[a link was left out: its URI is empty or too long]")},
		{"an unknown kind", data(full("video")), text("[a part of an unknown kind was left out]")},
		{"no kind", sallyport.Part{}, text("[a part of an unknown kind was left out]")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, g := partsOf(t, bringing(sallyport.FormTool, tt.in))
			if diff := cmp.Diff([]sallyport.Part{tt.want}, res.Parts); !res.OK || diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			recordable(t, g, res)
			e := g.recorder.last()
			if n := int64(len(tt.want.Text) + len(tt.want.Data)); e.Parts != 1 || e.PartBytes != n {
				t.Errorf("recorded %d parts of %d bytes, want 1 of %d", e.Parts, e.PartBytes, n)
			}
		})
	}
}

func TestResultsFitTheForm(t *testing.T) {
	t.Parallel()
	resource := func(uri string) sallyport.Part {
		return sallyport.Part{Kind: sallyport.PartResource, URI: uri, Text: "t"}
	}
	tests := []struct {
		name string
		tool sallyport.Tool
		want string // part of the failure; empty for a success
	}{
		{"messages", bringing(sallyport.FormPrompt, message("a"), sallyport.Part{Kind: sallyport.PartImage, Role: sallyport.RoleAssistant, MediaType: "image/png", Data: []byte("x")}), ""},
		{"no message", bringing(sallyport.FormPrompt), ""},
		{"a message without a role", bringing(sallyport.FormPrompt, message("a"), sallyport.Part{Kind: sallyport.PartText, Text: "b"}), "part 1 has no role"},
		{"a message of the system", bringing(sallyport.FormPrompt, sallyport.Part{Kind: sallyport.PartText, Role: "system", Text: "b"}), "part 0 has no role"},
		{"a prompt of a text", sallyport.Tool{Name: "tool", Form: sallyport.FormPrompt, Run: returning(sallyport.OK("text"), nil)}, "a text and no parts"},
		{"what was asked for", bringing(sallyport.FormResource, resource("mem:a")), ""},
		{"what is under it", bringing(sallyport.FormResource, resource("mem:a/b"), resource("mem:a/b/c?d#e")), ""},
		{"nothing", bringing(sallyport.FormResource), ""},
		{"another resource", bringing(sallyport.FormResource, resource("mem:a"), resource("mem:b")), "part 1 is neither"},
		{"a longer name", bringing(sallyport.FormResource, resource("mem:ab")), "part 0 is neither"},
		{"a step up", bringing(sallyport.FormResource, resource("mem:a/../b")), "part 0 is neither"},
		{"an encoded step up", bringing(sallyport.FormResource, resource("mem:a/x/%2E%2e/b")), "part 0 is neither"},
		{"a step up with a backslash", bringing(sallyport.FormResource, resource(`mem:a/..\b`)), "part 0 is neither"},
		{"a step up before a query", bringing(sallyport.FormResource, resource("mem:a/..?x")), "part 0 is neither"},
		{"below a query", sallyport.Tool{
			Name: "tool", Form: sallyport.FormResource, Resources: []sallyport.Resource{{Name: "n", Template: "mem:a{?x}"}},
			Run: returning(sallyport.Result{OK: true, Parts: []sallyport.Part{resource("mem:a?x=1/b")}}, nil),
		}, "part 0 is neither"},
		{"no URI", bringing(sallyport.FormResource, resource("")), "part 0 is neither"},
		{"a text", bringing(sallyport.FormResource, sallyport.Part{Kind: sallyport.PartText, Text: "t"}), "part 0 is no resource"},
		{"a link", bringing(sallyport.FormResource, sallyport.Part{Kind: sallyport.PartLink, URI: "mem:a"}), "part 0 is no resource"},
		{"a resource of a text", sallyport.Tool{
			Name: "tool", Form: sallyport.FormResource, Resources: []sallyport.Resource{{Name: "n", URI: "mem:a"}}, Run: returning(sallyport.OK("text"), nil),
		}, "a text and no parts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, g := partsOf(t, tt.tool)
			if tt.want == "" {
				if !res.OK {
					t.Errorf("Call() = %+v, want a success", res)
				}
				return
			}
			if res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, tt.want) || res.Parts != nil {
				t.Errorf("Call() = %+v, want execution_failed with %q and no parts", res, tt.want)
			}
			if e := g.recorder.last(); e.OK || e.Parts != 0 {
				t.Errorf("recorded %+v, want a failure without parts", e)
			}
		})
	}
}

func TestAFailureKeepsTheToolsPartsOnly(t *testing.T) {
	t.Parallel()
	for form, want := range map[sallyport.Form]int{sallyport.FormTool: 1, sallyport.FormPrompt: 0, sallyport.FormResource: 0} {
		tool := bringing(form)
		tool.Run = returning(sallyport.Result{Error: "no", Parts: []sallyport.Part{sound("x")}}, nil)
		if res, _ := partsOf(t, tool); res.OK || len(res.Parts) != want {
			t.Errorf("form %q = %+v, want %d parts", form, res, want)
		}
	}
}

func TestPartsAreClean(t *testing.T) {
	t.Parallel()
	hostile := "a" + secretValue + "\x1b]8;;x\x07\u202e<|im_start|>"
	const want = "a[REDACTED:secret][STRIPPED-TEMPLATE-TOKEN]"
	resource := sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", Text: hostile, MediaType: `text/plain; x="` + secretValue + `"`}
	for _, tool := range []sallyport.Tool{
		bringing(sallyport.FormTool, sallyport.Part{Kind: sallyport.PartText, Text: hostile}, resource, sallyport.Part{
			Kind: sallyport.PartLink, URI: hostile, Name: hostile, Title: hostile, Description: hostile, MediaType: `text/plain; x="` + secretValue + `"`,
		}),
		bringing(sallyport.FormPrompt, message(hostile), sallyport.Part{Kind: sallyport.PartLink, Role: sallyport.RoleUser, URI: hostile, Name: hostile, Title: hostile, Description: hostile}),
		bringing(sallyport.FormResource, resource),
	} {
		t.Run(tool.ID(), func(t *testing.T) {
			res, g := partsOf(t, tool)
			if !res.OK {
				t.Fatal(res.Error)
			}
			for i, p := range res.Parts {
				for name, s := range map[string]string{"text": p.Text, "uri": p.URI, "name": p.Name, "title": p.Title, "description": p.Description} {
					if s != "" && s != want && s != "mem:a" {
						t.Errorf("part %d: %s = %q, want %q", i, name, s, want)
					}
				}
				if p.MediaType != "" {
					t.Errorf("part %d has the media type %q", i, p.MediaType)
				}
			}
			text, err := json.Marshal([]any{res, g.recorder.last()})
			if err != nil || bytes.Contains(text, []byte("hunter2")) {
				t.Errorf("a secret left the gate: %s, %v", text, err)
			}
		})
	}
}

func TestASecretInDataGoesWithIt(t *testing.T) {
	t.Parallel()
	encoded := base64.StdEncoding.EncodeToString([]byte("xx" + secretValue))
	for name, data := range map[string]string{
		"plain": "\x89PNG\r\n\x00\xff\xfe" + secretValue + "\x00\xff", "base64": "\xff" + encoded, "at the start": secretValue, "whole": strings.Repeat("\xff", 1<<20) + secretValue,
	} {
		for _, form := range []sallyport.Form{sallyport.FormTool, sallyport.FormPrompt, sallyport.FormResource} {
			bad, good := sound(data), sound("\x89PNG clean")
			if form == sallyport.FormPrompt {
				bad.Role, good.Role = sallyport.RoleUser, sallyport.RoleUser
			}
			if form == sallyport.FormResource {
				bad.Kind, bad.URI, good.Kind, good.URI = sallyport.PartResource, "mem:a", sallyport.PartResource, "mem:a"
			}
			res, g := partsOf(t, bringing(form, bad, good))
			if said := fmt.Sprint(g.recorder.last().Decisions); !strings.Contains(said, "1 parts of the result were left out") {
				t.Errorf("%s: recorded %s", name, said)
			}
			if len(res.Parts) != 2 || res.Parts[0].Data != nil || res.Parts[0].Role != bad.Role || res.Parts[0].URI != bad.URI {
				t.Fatalf("%s, form %q = %.300v", name, form, res)
			}
			if want := fmt.Sprintf("[%d bytes were left out: they hold a secret]", len(data)); res.Parts[0].Text != want {
				t.Errorf("%s: the part says %q, want %q", name, res.Parts[0].Text, want)
			}
			if string(res.Parts[1].Data) != "\x89PNG clean" {
				t.Errorf("%s: the other part is %+v", name, res.Parts[1])
			}
		}
	}
}

func TestUntrustedPartsOfAToolAreWrapped(t *testing.T) {
	t.Parallel()
	closing := "a</untrusted>b"
	tool := bringing(sallyport.FormTool, sallyport.Part{Kind: sallyport.PartText, Text: closing},
		sallyport.Part{Kind: sallyport.PartResource, URI: `mem:"<a>`, Text: "r"}, sound("x"), sallyport.Part{Kind: sallyport.PartLink, URI: "mem:l", Name: "<n>"})
	tool.OutputIsUntrusted = true
	res, _ := partsOf(t, tool)
	want := []sallyport.Part{
		{Kind: sallyport.PartText, Text: "<untrusted source=\"unknown\" tool=\"tool\">\na&lt;/untrusted>b\n</untrusted>"},
		{Kind: sallyport.PartResource, URI: "mem:%22%3Ca%3E", Text: "<untrusted source=\"mem:%22%3Ca%3E\" tool=\"tool\">\nr\n</untrusted>"},
		sound("x"),
		{Kind: sallyport.PartLink, URI: "mem:l", Name: "<n>"},
	}
	if diff := cmp.Diff(want, res.Parts); diff != "" || res.Value != "" {
		t.Errorf("value %q, parts (-want +got):\n%s", res.Value, diff)
	}
	tool.Run = returning(sallyport.Result{Error: "no", Parts: []sallyport.Part{message("why")}}, nil)
	if res, _ := partsOf(t, tool); !strings.HasPrefix(res.Error, "<untrusted") || !strings.HasPrefix(res.Parts[0].Text, "<untrusted") {
		t.Errorf("a failure = %+v, want error and part wrapped", res)
	}
	for _, tool := range []sallyport.Tool{
		bringing(sallyport.FormPrompt, message(closing)), bringing(sallyport.FormResource, sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", Text: closing}),
	} {
		tool.OutputIsUntrusted = true
		if res, _ := partsOf(t, tool); len(res.Parts) != 1 || res.Parts[0].Text != closing {
			t.Errorf("%s = %+v, want the text as it is", tool.ID(), res)
		}
	}
}

func TestPartsAreTheCallersOwn(t *testing.T) {
	t.Parallel()
	data := []byte("0123")
	g := newGate(t, nil)
	parts := []sallyport.Part{{Kind: sallyport.PartAudio, MediaType: "audio/wav", Data: data}}
	g.add(sallyport.Tool{Name: "tool", Run: returning(sallyport.Result{OK: true, Parts: parts}, nil)})
	res := call(g, "tool", "{}")
	data[0], parts[0].MediaType = 'x', "audio/changed"
	if string(res.Parts[0].Data) != "0123" || res.Parts[0].MediaType != "audio/wav" {
		t.Errorf("the result changed with the tool's: %+v", res.Parts)
	}
}

func TestTheCacheKeepsParts(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	runs, size := 0, 4
	g.add(sallyport.Tool{Name: "tool", Schema: open, OutputIsUntrusted: true, Cache: &sallyport.Cache{}, Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		runs++
		return sallyport.Result{OK: true, Parts: []sallyport.Part{sound(strings.Repeat("p", size)), message("text")}}, nil
	}})
	first := call(g, "tool", "{}")
	want := []sallyport.Part{sound("pppp"), {Kind: sallyport.PartText, Text: "<untrusted source=\"unknown\" tool=\"tool\">\ntext\n</untrusted>"}}
	first.Parts[0].Data[0] = 'X'
	first.Parts[1].Text = "changed"
	for range 2 {
		res := call(g, "tool", "{}")
		if diff := cmp.Diff(want, res.Parts); diff != "" || runs != 1 {
			t.Fatalf("%d runs, parts (-want +got):\n%s", runs, diff)
		}
		res.Parts[0].Data[0] = 'Y'
	}
	if e := g.recorder.last(); !e.Cached || e.Parts != 2 {
		t.Errorf("recorded %+v", e)
	}
	size = 1 << 20
	for range 2 {
		call(g, "tool", `{"a":1}`)
	}
	if runs != 3 {
		t.Errorf("%d runs, want a large result not to be kept", runs)
	}
}

func TestReducersLeavePartsAlone(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "tool", Run: returning(sallyport.Result{OK: true, Value: "long", Parts: []sallyport.Part{sound("x")}}, nil)})
	if _, err := g.RegisterReducer(sallyport.Reducer{Tool: "tool", Reduce: func(r sallyport.Result, _ sallyport.ReducerContext) sallyport.Result {
		if r.Parts != nil {
			t.Error("the reducer sees parts")
		}
		return sallyport.Result{OK: true, Value: "short", Parts: []sallyport.Part{sound(secretValue)}}
	}}); err != nil {
		t.Fatal(err)
	}
	res := call(g, "tool", "{}")
	if diff := cmp.Diff([]sallyport.Part{sound("x")}, res.Parts); diff != "" || res.Value != "short" {
		t.Errorf("value %q, parts (-want +got):\n%s", res.Value, diff)
	}
}
