package yamldoc

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// TestColonsInLists: inside braces, too, only a colon before a blank separates
// a key from its value, and what is in braces stays a mapping.
func TestColonsInLists(t *testing.T) {
	text, _ := decodeText([]byte("{x: [weather:read, a:b:c, 01:2, smtp:25, g:true, a:b  c , {c:d}, e: f, \"q\":r, q:\"r\", ~:a], y: [a:b, [c:d],\n e:f\n]}"), 1<<20)
	root, faults := parseYAML(text, 100)
	if faults != nil {
		t.Fatal(faults)
	}
	want := `{"x": ["weather:read", "a:b:c", "01:2", "smtp:25", "g:true", "a:b  c", {"c": "d"}, {"e": "f"}, {"q": "r"}, {"q": "r"}, "~:a"],` +
		"\n\t" + `"y": ["a:b", ["c:d"], "e:f"]}`
	if got := toJSON(root); got != want {
		t.Errorf("tree = %s, want %s", got, want)
	}
	if got, want := root.Fields[1].Value.Items[2].At, (Position{2, 2}); got != want {
		t.Errorf("e:f stands at %v, want %v", got, want)
	}
}

// TestReads holds the check of a text against its source to find what a
// library may do to it.
func TestReads(t *testing.T) {
	tests := []struct {
		name, source, value string
		style               textStyle
		want                bool
	}{
		{"same", "a b", "a b", stylePlain, true},
		{"folded", "a\n\n  b", "a b", stylePlain, true},
		{"end dropped", "/data/x", "/data/", stylePlain, false},
		{"word dropped", "a b", "a", stylePlain, false},
		{"end dropped in quotes", "'ab'", "a", styleSingle, false},
		{"before a comma", "a , b", "a", stylePlain, true},
		{"blank at the end", "\"a \n \"", "a ", styleDouble, true},
		{"letter dropped", "/data/x", "/dat/x", stylePlain, false},
		{"letter added", "/data", "/data/x", stylePlain, false},
		{"space dropped", "a b", "ab", stylePlain, false},
		{"space added", "ab", "a b", stylePlain, false},
		{"beginning dropped", "ab", "b", stylePlain, false},
		{"single quotes", "'it''s \"x\"'", "it's \"x\"", styleSingle, true},
		{"single quotes, other", "'it''s'", "its", styleSingle, false},
		{"double quotes", "\"a 'b'\"", "a 'b'", styleDouble, true},
		{"double quotes, escaped", "\"a\\x62\"", "ab", styleDouble, true},
		{"double quotes, other before the escape", "\"a\\x62\"", "cb", styleDouble, false},
		{"block", "|-\n  a\n   b", "a\n b", styleBlock, true},
		{"block, other", "|-\n  a\n  b", "a\nc", styleBlock, false},
		{"empty", "''", "", styleSingle, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &tokenPositions{lines: strings.Split(tt.source, "\n")}
			if got := p.matchesSource(Position{1, 1}, tt.value, tt.style); got != tt.want {
				t.Errorf("reads(%q as %q) = %t, want %t", tt.source, tt.value, got, tt.want)
			}
		})
	}
}

// TestLostTokens holds the reader to notice content that is in no node.
func TestLostTokens(t *testing.T) {
	tokens := lexer.Tokenize("a: b\n# c\n")
	y := yamlReader{seen: map[*token.Token]bool{tokens[0]: true}}
	if got := y.findLost(tokens); got != tokens[2] {
		t.Errorf("lost = %v, want the token b", got)
	}
	y.seen[tokens[2]] = true
	if got := y.findLost(tokens); got != nil {
		t.Errorf("lost = %v, want none", got)
	}
}
