package uritemplate

import (
	"strings"
	"testing"
)

func TestTemplatesMatchTheirExpansions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		template string
		yes, no  []string
	}{
		// What a level 1 variable holds never leaves its segment.
		{"file:///{name}", []string{"file:///a", "file:///", "file:///..", "file:///a%2Fb", "file:///a.~_-1"}, []string{
			"file:///a/b", "file:///../b", "file:///a?b", "file:///a#b", "file:///a b", "file:///a%2", "file:///a%zz", "file:///é", "file:///a\n",
			"\nfile:///a", "file:///a:b", "file:///a@b", "file:///a,b", "file:///a\\b", "file://", "xfile:///a", "file:///\x00", "FILE:///a",
		}},
		{"mem:{+path}/end", []string{"mem:a/b/end", "mem:/end", "mem:../x/end", "mem:a?b#c/end"}, []string{"mem:a b/end", "mem:a/end/", "mem:é/end", "mem:%/end"}},
		{"mem:{#frag}", []string{"mem:#a/b", "mem:#", "mem:"}, []string{"mem:a", "mem:#a b"}},
		{"mem:x{.ext}", []string{"mem:x.a", "mem:x", "mem:x.a.b"}, []string{"mem:xa", "mem:x.a/b"}},
		{"mem:{/a,b}", []string{"mem:", "mem:/x", "mem:/x/y", "mem://y"}, []string{"mem:x", "mem:/x/y/z"}},
		{"mem:{/list*}", []string{"mem:", "mem:/x", "mem:/x/y/z"}, []string{"mem:x/y"}},
		{"mem:a{;x,y}", []string{"mem:a", "mem:a;x=1;y=2", "mem:a;y=2", "mem:a;x;y"}, []string{"mem:a;y=1;x=2", "mem:a;z=1", "mem:a;x=1y=2", "mem:a;x=", "mem:a;"}},
		{"mem:a{?x,y}", []string{"mem:a", "mem:a?x=1", "mem:a?y=2", "mem:a?x=1&y=2", "mem:a?x=&y="}, []string{"mem:a?z=1", "mem:a?", "mem:a?x", "mem:a?x=1y=2", "mem:a?y=1&x=2", "mem:a?x=1&z=2", "mem:a&x=1", "mem:a?x=1&"}},
		{"mem:a?f=1{&x}", []string{"mem:a?f=1", "mem:a?f=1&x=2"}, []string{"mem:a?f=2", "mem:aaf=1"}},
		{"mem:a{?x*}", []string{"mem:a?x=1&x=2"}, []string{"mem:a?y=1"}},
		{"mem:{a,b}", []string{"mem:1,2", "mem:1", "mem:"}, []string{"mem:1,2,3", "mem:1;2"}},
		{"mem:{id:3}", []string{"mem:abc", "mem:"}, []string{"mem:abcd"}},
		{"mem:a.b", []string{"mem:a.b"}, []string{"mem:axb"}},
		{"mem:{a.b_1}{%20}", []string{"mem:x"}, nil},
		{"日本:{x}", []string{"日本:a"}, nil},
	}
	for _, tt := range tests {
		tpl, err := Parse(tt.template)
		if err != nil {
			t.Errorf("Parse(%q) = %v", tt.template, err)
			continue
		}
		for _, uri := range tt.yes {
			if !tpl.Match(uri) {
				t.Errorf("%s does not match %q", tt.template, uri)
			}
		}
		for _, uri := range tt.no {
			if tpl.Match(uri) {
				t.Errorf("%s matches %q", tt.template, uri)
			}
		}
	}
}

func TestBrokenTemplatesAreRefused(t *testing.T) {
	t.Parallel()
	for template, want := range map[string]string{
		"mem:{":                                  "without a }",
		"mem:{a":                                 "without a }",
		"mem:a}":                                 "cannot hold",
		"mem:{a}}":                               "cannot hold",
		"mem:{}":                                 "empty {}",
		"mem:{+}":                                "broken variable",
		"mem:{a b}":                              "broken variable",
		"mem:{a,}":                               "broken variable",
		"mem:{a..b}":                             "broken variable",
		"mem:{.a.}":                              "broken variable",
		"mem:{a%2}":                              "broken variable",
		"mem:{{a}}":                              "broken variable",
		"mem:{a-b}":                              "broken variable",
		"mem:{=a}":                               "reserved operator",
		"mem:{|a}":                               "reserved operator",
		"mem:{a:0}":                              "broken modifier",
		"mem:{a:x}":                              "broken modifier",
		"mem:{a:03}":                             "broken modifier",
		"mem:{a:+3}":                             "broken modifier",
		"mem:{a:3*}":                             "broken modifier",
		"mem:{a:-1}":                             "broken modifier",
		"mem:{a:101}":                            "prefixes of more than",
		"mem:{a:60}{b:60}":                       "prefixes of more than",
		"mem:" + strings.Repeat("{a}", 33):       "too many variables",
		"mem:{a" + strings.Repeat(",a", 8) + "}": "too many variables",
		"mem:" + strings.Repeat("{a,b,c,d,e}", 3): "too many variables in its",
		"mem:" + strings.Repeat("a", 2048):        "at most 2048",
		"mem:a b{x}":                              "cannot hold",
	} {
		if _, err := Parse(template); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.40q) = %v, want %q", template, err, want)
		}
	}
}
