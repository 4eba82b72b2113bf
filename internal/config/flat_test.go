package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/group"
)

// TestShortKeysOfARoleMeanTheLongOnes loads a role in both forms, which differ in where
// their lists stand.
func TestShortKeysOfARoleMeanTheLongOnes(t *testing.T) {
	const flat = `version: 2
personalities:
  ops:
    tools: [read_file]
    read: [/srv/in]
    write: []
    hosts: [a.example]
    safety: {network: {deny: [b.example]}}
    secrets: [a/b]
    bins: [git]
`
	const long = `version: 2
personalities:
  ops:
    toolset: [read_file]
    fs_reach: {read: [/srv/in], write: []}
    safety: {network: {allow: [a.example], deny: [b.example]}, secrets: {allow: [a/b]}, process: {allow: [git]}}
`
	load := func(text string) *Config {
		t.Helper()
		c, err := Parse("s.yaml", []byte(text), testOptions())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := load(flat)
	got, want := *c.Personalities["ops"], *load(long).Personalities["ops"]
	sources := got.Sources
	got.Sources, want.Sources = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the short form differs (-long +short):\n%s", diff)
	}
	line := map[string]string{"tools": "4", "read": "5", "write": "6", "hosts": "7", "secrets": "9", "bins": "10"}
	for _, k := range group.FlatKeys() {
		at := "s.yaml:" + line[k.Flat] + ":5"
		if sources[k.Long] != at || sources[k.Flat] != at {
			t.Errorf("%s is at %s and %s at %s, want %s", k.Long, sources[k.Long], k.Flat, sources[k.Flat], at)
		}
		if got := group.SpellKey(c.Personalities["ops"], k.Long); got != k.Flat {
			t.Errorf("SpellKey(short form, %s) = %s, want %s", k.Long, got, k.Flat)
		}
		if got := group.SpellKey(load(long).Personalities["ops"], k.Long); got != k.Long {
			t.Errorf("SpellKey(long form, %s) = %s", k.Long, got)
		}
	}
	if f := c.Fault("ops", "toolset", 0, "x"); f.Key != "personalities.ops.tools.0" || f.Line != 4 || f.Column != 13 {
		t.Errorf("the fault of an entry is %s at %d:%d", f.Key, f.Line, f.Column)
	}
}

// TestBothFormsOfOneListAreRefused writes one list of a role twice.
func TestBothFormsOfOneListAreRefused(t *testing.T) {
	for _, tt := range []struct{ role, at, key, first string }{
		{"{tools: [], toolset: []}", "3:20", "toolset", "3:9"},
		{"{toolset: [], tools: []}", "3:22", "tools", "3:9"},
		{"{fs_reach: {read: []}, read: []}", "3:31", "read", "3:20"},
		{"{write: [], fs_reach: {write: []}}", "3:31", "fs_reach.write", "3:9"},
		{"{hosts: [], safety: {network: {allow: []}}}", "3:39", "safety.network.allow", "3:9"},
		{"{safety: {secrets: {allow: []}}, secrets: []}", "3:41", "secrets", "3:28"},
		{"{bins: [], safety: {process: {allow: []}}}", "3:38", "safety.process.allow", "3:9"},
	} {
		_, err := Parse("s.yaml", []byte("version: 2\npersonalities:\n  ops: "+tt.role+"\n"), testOptions())
		want := "s.yaml:" + tt.at + ": personalities.ops." + tt.key + ": the role has this list already, under its short or long key, at s.yaml:" + tt.first + ": write one of them"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", tt.role, err, want)
		}
	}
}
