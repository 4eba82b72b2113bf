package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSearchServices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want Search
		why  []string
	}{
		{"{service: brave}", Search{SearchBrave, "", "providers/brave/apiKey"}, nil},
		{"{service: exa, key_secret: k/e}", Search{SearchExa, "", "k/e"}, nil},
		{"{service: searxng, url: 'http://127.0.0.1:8888/x'}", Search{SearchSearXNG, "http://127.0.0.1:8888/x", ""}, nil},
		{"{}", Search{}, []string{"s.yaml:2:1: missing key search.service: expected service: brave"}},
		{"{service: google}", Search{}, []string{"s.yaml:2:19: search.service: \"google\" is not known: expected searxng, brave, tavily or exa"}},
		{"{service: searxng}", Search{}, []string{"s.yaml:2:10: search.url is missing: searxng is an instance of your choice"}},
		{"{service: searxng, url: 'https://s.example', key_secret: k/s}", Search{}, []string{"s.yaml:2:54: search.key_secret: searxng has no key"}},
		{"{service: brave, url: 'https://s.example'}", Search{}, []string{"s.yaml:2:26: search.url is the address of a SearXNG instance: brave has its own"}},
		{
			"{service: searxng, url: 'https://u:p@s.example'}",
			Search{},
			[]string{"s.yaml:2:33: search.url: expected an http or https address without user, query and fragment, such as https://search.example.org"},
		},
		{
			"{service: brave, key_secret: 'https://k'}",
			Search{},
			[]string{"s.yaml:2:38: search.key_secret: expected the reference of a secret such as db/analytics, not a URL: the value is never written here"},
		},
	} {
		c, err := Parse("s.yaml", []byte("version: 1\nsearch: "+tt.text+"\n"), testOptions())
		if diff := cmp.Diff(tt.why, faultLines(err)); diff != "" {
			t.Errorf("search: %s: faults differ (-want +got):\n%s", tt.text, diff)
		}
		if err == nil && c.Search != tt.want {
			t.Errorf("search: %s = %+v, want %+v", tt.text, c.Search, tt.want)
		}
	}
}
