package action

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTemplate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   string
		want template
	}{
		{"", nil},
		{"plain", template{{text: "plain"}}},
		{"{p}", template{{param: "p"}}},
		{"a{p}b{q}", template{{text: "a"}, {param: "p"}, {text: "b"}, {param: "q"}}},
		{"{secret:a/b}", template{{secret: "a/b"}}},
		{"{{p}}", template{{text: "{p}"}}},
		{"{{{p}}}", template{{text: "{"}, {param: "p"}, {text: "}"}}},
		{"{user-id}", template{{param: "user-id"}}},
	} {
		if got, err := parseTemplate(tt.in); err != nil || !cmp.Equal(tt.want, got, cmp.AllowUnexported(templatePart{})) {
			t.Errorf("parseTemplate(%q) = %v, %v, want %v", tt.in, got, err, tt.want)
		}
	}
	for _, in := range []string{"{", "}", "{}", "a{p", "p}", "{a{b}}", "{secret:}", "{secret:a/*}", "{secret:../a}", "{{}"} {
		if got, err := parseTemplate(in); err == nil {
			t.Errorf("parseTemplate(%q) = %v, want an error", in, got)
		}
	}
}

// FuzzParseTemplate: printing is the inverse of parsing, and a text without
// placeholders means itself.
func FuzzParseTemplate(f *testing.F) {
	for _, in := range []string{"", "a{p}b", "{{x}}", "{secret:a/b}", "{", "}}{{", "{a}{b}", "\x00{ }"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		parsed, err := parseTemplate(in)
		if err != nil {
			return
		}
		again, err := parseTemplate(parsed.String())
		if err != nil || !cmp.Equal(parsed, again, cmp.AllowUnexported(templatePart{})) {
			t.Fatalf("parseTemplate(%q).String() = %q, parsed as %v, %v, want %v", in, parsed, again, err, parsed)
		}
		if parsed.String() != in {
			t.Fatalf("parseTemplate(%q).String() = %q", in, parsed)
		}
		for _, separator := range []string{"/", "&"} {
			var joined template
			for i, piece := range parsed.splitTexts(separator) {
				if i > 0 {
					joined = append(joined, templatePart{text: separator})
				}
				joined = append(joined, piece...)
			}
			if joined.String() != in {
				t.Fatalf("%q cut at %q and joined = %q", in, separator, joined)
			}
		}
	})
}
