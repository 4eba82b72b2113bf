package command

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

func TestAnswerPrintsWhatIsBesideTheValue(t *testing.T) {
	t.Parallel()
	picture := sallyport.Part{Kind: sallyport.PartImage, MediaType: "image/png", Data: []byte("1234")}
	for _, tt := range []struct {
		name string
		res  sallyport.Result
		want string
	}{
		{"nothing", sallyport.OK(""), "\n"},
		{"the value first", sallyport.Result{OK: true, Value: "v", Parts: []sallyport.Part{
			picture, {Kind: sallyport.PartAudio, MediaType: "audio/wav", Data: []byte("12")}, {Kind: sallyport.PartText, Text: "more\nlines"},
		}}, "v\n[image image/png 4 bytes]\n[audio audio/wav 2 bytes]\nmore\nlines\n"},
		{"parts alone", sallyport.Result{OK: true, Parts: []sallyport.Part{picture}}, "[image image/png 4 bytes]\n"},
		{"a resource", sallyport.Result{OK: true, Parts: []sallyport.Part{
			{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "text/plain", Text: "abc"},
			{Kind: sallyport.PartResource, URI: "mem:b", MediaType: "application/octet-stream", Data: []byte("abc")},
		}}, "[resource text/plain mem:a]\nabc\n[resource application/octet-stream 3 bytes mem:b]\n"},
		{"a link of several lines", sallyport.Result{OK: true, Parts: []sallyport.Part{
			{Kind: sallyport.PartLink, URI: "mem:a\n[image", Name: "name", Title: "a\ttitle", Description: "de\nscription", Size: 7},
		}}, "[link 7 bytes mem:a [image a title de scription]\n"},
		{"messages", sallyport.Result{OK: true, Parts: []sallyport.Part{
			{Kind: sallyport.PartText, Role: sallyport.RoleUser, Text: "Hello"},
			{Kind: sallyport.PartImage, Role: sallyport.RoleAssistant, MediaType: "image/png", Data: []byte("1234")},
		}}, "user: Hello\n[assistant: image image/png 4 bytes]\n"},
		{"a failure", sallyport.Result{Error: "no", Code: sallyport.CodeExecutionFailed, Parts: []sallyport.Part{picture}}, "no\n[image image/png 4 bytes]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := printResult(&report.Printer{W: &b}, tt.res); (err == nil) != tt.res.OK {
				t.Errorf("answer() = %v", err)
			}
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			b.Reset()
			_ = printResult(&report.Printer{W: &b, JSON: true}, tt.res)
			var back sallyport.Result
			if err := json.Unmarshal(b.Bytes(), &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.res.Parts, back.Parts); diff != "" {
				t.Errorf("parts in JSON (-want +got):\n%s", diff)
			}
		})
	}
}

func TestServersAreFoundBehindEveryForm(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"mcp__docs__page": "docs", "prompt:mcp__docs__page": "docs", "resource:mcp__docs__all": "docs", "prompt:own": "", "own": "",
	} {
		if got := app.ServerOf(id); got != want {
			t.Errorf("serverOf(%q) = %q, want %q", id, got, want)
		}
	}
}
