package app_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/group"
)

// declarations hold every object that a declaration may have.
var declarations = map[string][]string{
	"server": {
		`{"command": ["python3", "x"], "cwd": "/srv", "env": {"A": "b"}, "secret_env": {"K": {"secret": "a/b", "hosts": ["a.example"], "prefixes": ["p"]}},
		  "rateLimit": {"requests": 1, "window": "1h"}, "timeout": "5s", "permissions": ["a:b"], "concurrency": 1, "shared": true, "effects": {"send": {"does": ["outward"], "destinations": {"to": "mail"}}}, "capabilities": CAPABILITIES}`,
		`{"url": "https://a.example/", "transport": "sse", "headers": {"X-A": {"secret": "a/b", "prefix": "p"}, "X-B": "c"},
		  "oauth": {"identity_provider": {"issuer": "https://i.example", "client_id": "c"}}, "capabilities": {}}`,
	},
	"action": {
		`{"id": "a", "name": "A", "description": "x", "parameters": {"to": {"type": "string"}}, "returns": {}, "rate_limit": {"requests": 1, "window": "1h"}, "timeout": "5s", "readOnly": true, "idempotent": true, "maxResultChars": 1, "does": ["outward"], "destinations": {"to": "mail"},
		  "permissions": ["a:b"], "capabilities": CAPABILITIES, "handler": {"http": {"method": "GET", "url": "https://a.example/", "query": {"a": 1}, "headers": {"B": "c"}, "body": null, "response": {"value": "/a"}}}}`,
		`{"id": "a", "handler": {"exec": {"command": ["x"], "env": {"A": "b"}, "secret_prefixes": ["p"]}}}`,
	},
}

const capabilitiesOfAll = `{"network": {"allowedHosts": ["a.example"]}, "secrets": ["a/b"], "storage": {"scope": "session", "kind": "kv"}, "fs_reach": {"read": ["/srv"]},
	"process": {"allowedBinaries": ["git"]}, "attachments": {"kinds": "*"}, "database": {"connections": ["a"]}, "mail": {"to": ["a@b.example"]}, "input": ["person"]}`

// TestTheSchemaHasTheKeysOfTheLoader gives each object of a declaration every word of
// the loaders as a key. The schema for editors has exactly those that the loader knows.
func TestTheSchemaHasTheKeysOfTheLoader(t *testing.T) {
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	w := schemaWalk{t: t, defs: root["$defs"].(map[string]any), words: wordsOfLoaders(t)}
	for kind, texts := range declarations {
		w.load = func(data []byte) error {
			if kind == "server" {
				_, err := upstream.Decode("s", data, &upstream.DecodeOptions{Dir: "/"})
				return err
			}
			_, err := action.Decode(data, &action.DecodeOptions{Dir: "/"})
			return err
		}
		for _, text := range texts {
			w.objects, w.whole = 0, nil
			if err := json.Unmarshal([]byte(strings.Replace(text, "CAPABILITIES", capabilitiesOfAll, 1)), &w.whole); err != nil {
				t.Fatal(err)
			}
			w.compareObjects(w.defs[kind].(map[string]any), w.whole, "")
			if w.objects < 3 {
				t.Errorf("%s: %d objects were compared, want more", text, w.objects)
			}
		}
	}
	for _, g := range group.All() {
		if _, ok := w.resolve(w.defs["capabilities"])["properties"].(map[string]any)[g.Name]; !ok {
			t.Errorf("the schema has no capability %s", g.Name)
		}
	}
}

// schemaWalk compares the keys of a declaration's objects with the schema.
type schemaWalk struct {
	t       *testing.T
	defs    map[string]any
	words   []string
	load    func(data []byte) error
	whole   map[string]any
	objects int
}

// resolve follows references, and takes the object where there is a choice.
func (w *schemaWalk) resolve(s any) map[string]any {
	m, _ := s.(map[string]any)
	if ref, ok := m["$ref"].(string); ok {
		return w.resolve(w.defs[strings.TrimPrefix(ref, "#/$defs/")])
	}
	choices, _ := m["anyOf"].([]any)
	for _, c := range choices {
		if c := w.resolve(c); c["properties"] != nil {
			return c
		}
	}
	return m
}

func (w *schemaWalk) compareObjects(schema, value map[string]any, pointer string) {
	properties, fixed := schema["properties"].(map[string]any)
	if fixed {
		w.objects++
		if schema["additionalProperties"] != false {
			w.t.Errorf("%s: the schema admits other keys", pointer)
		}
		for _, word := range slices.Concat(w.words, slices.Collect(maps.Keys(properties))) {
			_, inSchema := properties[word]
			if known := w.isKnown(value, pointer, word); known != inSchema {
				w.t.Errorf("%s/%s: the loader knows it = %v, the schema has it = %v", pointer, word, known, inSchema)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(value)) {
		below, ok := value[key].(map[string]any)
		next := properties[key]
		if !fixed {
			next = schema["additionalProperties"]
		}
		if s := w.resolve(next); ok && s != nil {
			w.compareObjects(s, below, pointer+"/"+key)
		}
	}
}

// isKnown reports whether the loader knows a key of an object.
func (w *schemaWalk) isKnown(value map[string]any, pointer, key string) bool {
	if _, there := value[key]; !there {
		value[key] = nil
		defer delete(value, key)
	}
	data, err := json.Marshal(w.whole)
	if err != nil {
		w.t.Fatal(err)
	}
	faults, _ := errors.AsType[definition.Faults](w.load(data))
	return !slices.ContainsFunc(faults, func(f definition.Fault) bool {
		return f.Pointer == pointer+"/"+key && strings.HasPrefix(f.Message, "unknown key")
	})
}

// wordsOfLoaders returns the words in the source of what reads declarations, among
// which are all keys.
func wordsOfLoaders(t *testing.T) (words []string) {
	t.Helper()
	word := regexp.MustCompile(`^[a-zA-Z][a-zA-Z_]*$`)
	for _, pattern := range []string{"../../action/decode*.go", "../../gateway/upstream/decode*.go", "../definition/decoder.go", "../definition/capabilities.go", "../definition/object.go", "../group/table.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && word.MatchString(text) && !slices.Contains(words, text) {
						words = append(words, text)
					}
				}
				return true
			})
		}
	}
	return words
}
