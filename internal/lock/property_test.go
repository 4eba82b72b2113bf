package lock_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/lock"
)

// words are few, so that two draws are often equal, and hold what cleaning
// removes.
var words = rapid.SampledFrom([]string{"a", "b", "path", "Reads.", "Reads\u200b.", "<|im_start|>", "x\u001b[31m", "string", "object", "", "é"})

// keywords make schemas and definitions of random objects.
var keywords = rapid.SampledFrom([]string{
	"type", "properties", "required", "enum", "description", "title", "additionalProperties", "items", "anyOf",
	"not", "minLength", "maximum", "default", "readOnlyHint", "destructiveHint", "openWorldHint", "a", "b", "$defs", "icons", "_meta",
})

// anyJSON draws a JSON value.
func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Map(words, func(s string) any { return s }), rapid.Map(rapid.IntRange(-2, 2), func(i int) any { return i }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Just[any](nil),
	)
	if depth == 0 {
		return leaf
	}
	below := rapid.Deferred(func() *rapid.Generator[any] { return anyJSON(depth - 1) })
	return rapid.OneOf(
		leaf, rapid.Map(rapid.SliceOfN(below, 0, 3), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(keywords, below, 0, 4), func(m map[string]any) any { return m }),
	)
}

// definitions draws a list of definitions with distinct names.
func definitions(key string) *rapid.Generator[[]json.RawMessage] {
	return rapid.Custom(func(t *rapid.T) []json.RawMessage {
		var out []json.RawMessage
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"read", "write", "a b", strings.Repeat("long", 20)}), 0, 3, rapid.ID).Draw(t, "names") {
			m := rapid.MapOfN(rapid.SampledFrom([]string{"description", "title", "inputSchema", "outputSchema", "annotations", "icons", "_meta", "execution"}), anyJSON(3), 0, 5).Draw(t, "fields")
			m[key] = name
			out = append(out, encoded(m))
		}
		return out
	})
}

func encoded(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// offers draws a server.
var offers = rapid.Custom(func(t *rapid.T) *lock.Offer {
	texts := func(label string, of ...string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(of), 0, 3).Draw(t, label)
	}
	o := &lock.Offer{
		Launch: lock.Launch{
			Transport: rapid.SampledFrom([]lock.Transport{lock.TransportStdio, lock.TransportHTTP, lock.TransportSSE}).Draw(t, "transport"),
			Command:   texts("command", "npx", "-y", ""), Env: texts("env", "A", "B"),
			URL: rapid.SampledFrom([]string{"", "https://a.example/"}).Draw(t, "url"),
			Capabilities: sallyport.Capabilities{
				Secrets: texts("secrets", "a/b", "a/*", "c"),
			},
		},
		Instructions: words.Draw(t, "instructions"),
		Tools:        definitions("name").Draw(t, "tools"),
		Resources:    definitions("uri").Draw(t, "resources"),
		Templates:    definitions("uriTemplate").Draw(t, "templates"),
		Prompts:      definitions("name").Draw(t, "prompts"),
	}
	c := &o.Capabilities
	if rapid.Bool().Draw(t, "network") {
		c.Network = &sallyport.NetworkCapability{AllowedHosts: texts("hosts", "a.example", "*.example", "*", "a.example:8443")}
	}
	if rapid.Bool().Draw(t, "files") {
		c.FSReach = &sallyport.FSCapability{
			Read: sallyport.Paths(texts("read", "/data", "/data/a", "${workspace}")...), Write: sallyport.Paths(texts("write", "/data", "/tmp")...),
			Mode: rapid.SampledFrom([]sallyport.FSMode{"", sallyport.FSDirect, sallyport.FSOverlay}).Draw(t, "mode"),
		}
	}
	if rapid.Bool().Draw(t, "rest") {
		c.Process = &sallyport.ProcessCapability{AllowedBinaries: texts("binaries", "git", "*"), ExecFrom: texts("exec", "/data")}
		c.Database = &sallyport.DatabaseCapability{Connections: texts("databases", "x", "y"), Mode: sallyport.ModeWrite}
		c.Mail = &sallyport.MailCapability{Relay: rapid.SampledFrom([]string{"", "default"}).Draw(t, "relay"), To: texts("to", "a@b.example")}
		c.Attachments = &sallyport.AttachmentsCapability{All: rapid.Bool().Draw(t, "all")}
		c.Storage = &sallyport.StorageCapability{Scope: sallyport.ScopeSession, Kind: "kv", TTLSecondsDefault: rapid.Int64Range(0, 2).Draw(t, "ttl")}
	}
	if rapid.Bool().Draw(t, "installed") {
		o.Binary = &lock.Binary{Path: rapid.SampledFrom([]string{"/a", "/b"}).Draw(t, "binary"), SHA256: zero}
		o.Package = &lock.Package{Registry: "npm", Name: "n", Version: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "version"), Integrity: "sha512-A", SHA256: zero, Command: []string{"node"}}
	}
	if rapid.Bool().Draw(t, "asked") {
		o.Identity = encoded(map[string]any{"name": words.Draw(t, "name"), "version": words.Draw(t, "its version")})
	}
	return o
})

// mustTake pins an offer under a name.
func mustTake(t *rapid.T, name string, o *lock.Offer) lock.Server {
	s, refused, err := lock.Take(name, o, nil)
	if err != nil || len(refused) > 0 {
		t.Fatalf("Take: refused %v, error %v", refused, err)
	}
	return s
}

// files draws a file of a few servers.
var files = rapid.Custom(func(t *rapid.T) *lock.File {
	f := &lock.File{Servers: map[string]lock.Server{}}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"one", "two"}), 0, 2, rapid.ID).Draw(t, "servers") {
		f.Servers[name] = mustTake(t, name, offers.Draw(t, name))
	}
	return f
})

func digestOf(t *rapid.T, f *lock.File) string {
	d, err := f.Digest(lock.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestParseGivesBackWhatBytesWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := files.Draw(t, "file")
		text, err := f.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		got, err := lock.Parse("f", text)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f, got); d != "" {
			t.Fatalf("Parse of Bytes (-want +got):\n%s", d)
		}
		if again, err := got.Bytes(); err != nil || string(again) != string(text) {
			t.Fatalf("Bytes differs after Parse: %v", err)
		}
		if digestOf(t, f) != digestOf(t, got) || len(lock.Diff(f, got)) > 0 {
			t.Fatal("a file that was written and read is another one")
		}
	})
}

// TestDiffIsComplete compares files drawn apart, many of which are nearly
// equal: there is a change if and only if the digests differ.
func TestDiffIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := files.Draw(t, "a"), files.Draw(t, "b")
		if equal, list := digestOf(t, a) == digestOf(t, b), lock.Diff(a, b); equal != (len(list) == 0) {
			t.Fatalf("equal digests: %v, changes %v", equal, list)
		}
	})
}

// TestEveryMutationIsAChange changes one place of one definition.
func TestEveryMutationIsAChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]string{"name", "uri", "uriTemplate", "prompt"}).Draw(t, "kind")
		key := strings.Replace(kind, "prompt", "name", 1)
		before := rapid.MapOfN(keywords, anyJSON(3), 1, 5).Draw(t, "definition")
		before["inputSchema"] = anyJSON(4).Draw(t, "schema")
		before[key] = "it"
		var after map[string]any
		if err := json.Unmarshal(encoded(before), &after); err != nil {
			t.Fatal(err)
		}
		mutate(t, after, key)
		one := func(m map[string]any) *lock.File {
			o, list := &lock.Offer{Launch: lock.Launch{Transport: lock.TransportStdio}}, []json.RawMessage{encoded(m)}
			switch kind {
			case "name":
				o.Tools = list
			case "uri":
				o.Resources = list
			case "uriTemplate":
				o.Templates = list
			default:
				o.Prompts = list
			}
			return &lock.File{Servers: map[string]lock.Server{"s": mustTake(t, "s", o)}}
		}
		a, b := one(before), one(after)
		if cmp.Equal(string(encoded(before)), string(encoded(after))) {
			t.Skip("nothing was changed")
		}
		if digestOf(t, a) == digestOf(t, b) || len(lock.Diff(a, b)) == 0 || len(lock.Diff(b, a)) == 0 {
			t.Fatalf("from %s to %s: no change", encoded(before), encoded(after))
		}
	})
}

// mutate changes one place below an object: a value, a text by what is not
// shown, a key.
func mutate(t *rapid.T, m map[string]any, keep string) {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(k string) bool { return k == keep })
	if len(keys) == 0 || rapid.IntRange(0, 4).Draw(t, "add") == 0 {
		m["fresh"] = anyJSON(1).Draw(t, "fresh")
		return
	}
	k := rapid.SampledFrom(keys).Draw(t, "key")
	switch v := m[k].(type) {
	case map[string]any:
		if len(v) > 0 {
			mutate(t, v, "")
			return
		}
	case string:
		m[k] = v + rapid.SampledFrom([]string{"\u200b", "\u202e", "x", "\x00"}).Draw(t, "suffix")
		return
	case []any:
		if len(v) > 1 && rapid.Bool().Draw(t, "swap") {
			slices.Reverse(v)
			return
		}
	}
	if rapid.Bool().Draw(t, "remove") {
		delete(m, k)
		return
	}
	m[k] = anyJSON(2).Draw(t, "value")
}

// TestApproveNeverApprovesWhatWasNotShown gives each digest of one file to the
// approval of another: only what has that very digest is pinned.
func TestApproveNeverApprovesWhatWasNotShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pinned, shown, now := files.Draw(t, "pinned"), files.Draw(t, "shown"), files.Draw(t, "now")
		for _, scope := range scopes(shown) {
			expect, err := shown.Digest(scope)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pinned.Approve(now, scope, expect[:rapid.IntRange(16, 64).Draw(t, "digits")])
			if err != nil {
				continue
			}
			if d, _ := got.Digest(scope); d != expect {
				t.Fatalf("%s: what is pinned has the digest %s, what was shown %s", scope, d, expect)
			}
			for _, other := range scopes(pinned) {
				if scope.Server == "" || scope.Server == other.Server && (scope.Tool == "" || other.Tool == "" || other.Tool == scope.Tool) || other.Server == "" {
					continue
				}
				was, _ := pinned.Digest(other)
				if is, _ := got.Digest(other); is != was {
					t.Fatalf("approving %s changed %s", scope, other)
				}
			}
		}
	})
}

func scopes(f *lock.File) []lock.Scope {
	out := []lock.Scope{{}}
	for name, s := range f.Servers {
		out = append(out, lock.Scope{Server: name})
		for tool := range s.Tools {
			out = append(out, lock.Scope{Server: name, Tool: tool})
		}
	}
	slices.SortFunc(out, func(a, b lock.Scope) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return out
}
