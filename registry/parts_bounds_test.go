package registry_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

func TestPartsAreCounted(t *testing.T) {
	t.Parallel()
	many := make([]sallyport.Part, 10_000)
	for i := range many {
		many[i] = message(fmt.Sprint(i))
	}
	for _, form := range []sallyport.Form{sallyport.FormTool, sallyport.FormPrompt} {
		res, g := partsOf(t, bringing(form, many...))
		if !res.OK || len(res.Parts) != 256 || res.Parts[254].Text != "254" {
			t.Fatalf("form %q: %d parts, want 256", form, len(res.Parts))
		}
		last := res.Parts[255]
		if last.Text != "[9745 parts were left out: a result has at most 256]" || (form == sallyport.FormPrompt) != (last.Role == sallyport.RoleUser) {
			t.Errorf("form %q: the last part is %+v", form, last)
		}
		e := g.recorder.last()
		if e.Parts != 256 || !strings.Contains(fmt.Sprint(e.Decisions), "9745 parts of the result were left out") {
			t.Errorf("recorded %d parts and %v", e.Parts, e.Decisions)
		}
	}
	if res, _ := partsOf(t, bringing(sallyport.FormTool, many[:256]...)); len(res.Parts) != 256 || res.Parts[255].Text != "255" {
		t.Errorf("256 parts became %d", len(res.Parts))
	}
}

func TestDataIsBounded(t *testing.T) {
	t.Parallel()
	huge := sound(strings.Repeat("x", 100<<20))
	res, g := partsOf(t, bringing(sallyport.FormTool, sound("small"), huge, sound("after")))
	if len(res.Parts) != 3 || string(res.Parts[0].Data) != "small" || string(res.Parts[2].Data) != "after" {
		t.Fatalf("Call() = %.300v", res)
	}
	if want := "[104857600 bytes of audio/wav were left out: too much for one result]"; res.Parts[1].Text != want || res.Parts[1].Data != nil {
		t.Errorf("the part says %q, want %q", res.Parts[1].Text, want)
	}
	if e := g.recorder.last(); e.PartBytes > 200 {
		t.Errorf("recorded %d bytes", e.PartBytes)
	}
}

func TestDataIsBoundedTogether(t *testing.T) {
	t.Parallel()
	r, err := registry.New(nil, &registry.Options{PartBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Registry: r, t: t, recorder: &recorder{}}
	page := sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a", MediaType: "text/html", Data: []byte("12345678901")}
	g.add(bringing(sallyport.FormTool, sound("123456"), sound("12345"), sound("1234"), sound("1"), page))
	var got []string
	for _, p := range call(g, "tool", "{}").Parts {
		got = append(got, string(p.Data)+p.Text)
	}
	want := []string{
		"123456", "[5 bytes of audio/wav were left out: too much for one result]", "1234",
		"[1 bytes of audio/wav were left out: too much for one result]", "[11 bytes of text/html were left out: too much for one result]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("data and texts (-want +got):\n%s", diff)
	}
	if _, err := registry.New(nil, &registry.Options{PartBytes: -1}); err == nil {
		t.Error("a negative PartBytes was taken")
	}
}

func TestTextsShareTheBudget(t *testing.T) {
	t.Parallel()
	link := sallyport.Part{Kind: sallyport.PartLink, URI: "mem:a", Name: "name"}
	note := func(n int) sallyport.Part {
		return sallyport.Part{Kind: sallyport.PartText, Text: fmt.Sprintf("[%d parts were left out: the result has no room for their names]", n)}
	}
	text := func(s string) sallyport.Part { return sallyport.Part{Kind: sallyport.PartText, Text: s} }
	tests := []struct {
		name, value string
		in, want    []sallyport.Part
	}{
		{"the value first", "0123456789", []sallyport.Part{text("äöü")}, []sallyport.Part{text("äöü")}},
		{"several", "01234", []sallyport.Part{text("0123456789"), text("01234"), text("b")}, []sallyport.Part{
			text("0123456789"), text("01234"), text("\n[truncated -- 1 chars total]"),
		}},
		{"a cut", "0123456789", []sallyport.Part{text(strings.Repeat("ä", 11)), text("b")}, []sallyport.Part{
			text(strings.Repeat("ä", 10) + "\n[truncated -- 11 chars total]"), text("\n[truncated -- 1 chars total]"),
		}},
		{"nothing left", strings.Repeat("v", 30), []sallyport.Part{text("b"), sound("x"), link}, []sallyport.Part{text("\n[truncated -- 1 chars total]"), sound("x"), note(1)}},
		{"names are not cut", "0123456789", []sallyport.Part{link, link, sound("x")}, []sallyport.Part{link, note(2)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGate(t, nil)
			g.add(sallyport.Tool{Name: "tool", MaxResultChars: 20, Run: returning(sallyport.Result{OK: true, Value: tt.value, Parts: tt.in}, nil)})
			if diff := cmp.Diff(tt.want, call(g, "tool", "{}").Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("hostile names", func(t *testing.T) {
		long := link
		long.Description = strings.Repeat("x", 1<<20)
		res, _ := partsOf(t, bringing(sallyport.FormTool, long, long, message(strings.Repeat("y", 1<<20))))
		if len(res.Parts) != 1 {
			t.Fatalf("%d parts, want the note alone", len(res.Parts))
		}
	})
	t.Run("many URIs", func(t *testing.T) {
		parts := make([]sallyport.Part, 256)
		for i := range parts {
			parts[i] = sallyport.Part{Kind: sallyport.PartResource, URI: "mem:a/" + strings.Repeat("x", 8000), Text: "t"}
		}
		res, _ := partsOf(t, bringing(sallyport.FormResource, parts...))
		n := 0
		for _, p := range res.Parts {
			n += utf8.RuneCountInString(p.URI + p.Text)
		}
		if n > registry.DefaultBudget+1000 || !res.OK {
			t.Errorf("%d characters in %d parts", n, len(res.Parts))
		}
	})
}
