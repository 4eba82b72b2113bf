package yamledit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/yamledit"
)

func TestAddItem(t *testing.T) {
	for _, tt := range []struct{ name, text, path, want string }{
		{"one line", "a: {b: [x, \"y, z\"]} # why\n", "a.b", "a: {b: [x, \"y, z\", \"+\"]} # why\n"},
		{"an empty list", "a: []\n", "a", "a: [\"+\"]\n"},
		{"brackets over lines", "a: [\n  x, # one\n  y # two\n]\n", "a", "a: [\n  x, # one\n  y,\n  \"+\" # two\n]\n"},
		{"an apostrophe", "a: [it's, 'it''s']\nb: 1\n", "a", "a: [it's, 'it''s', \"+\"]\nb: 1\n"},
		{"lines", "a:\n  # one\n  - x # two\n\n  # three\nb: 1\n", "a", "a:\n  # one\n  - x # two\n  - \"+\"\n\n  # three\nb: 1\n"},
		{"lines at their key", "a:\n- x\n- y\nb: 1\n", "a", "a:\n- x\n- y\n- \"+\"\nb: 1\n"},
		{"no end of the last line", "a:\n  - x", "a", "a:\n  - x\n  - \"+\"\n"},
		{"a key in brackets", "r: {toolset: []}\n", "r.fs.read", "r: {toolset: [], fs: {read: [\"+\"]}}\n"},
		{"a key of nothing", "r: {}\n", "r.fs.read", "r: {fs: {read: [\"+\"]}}\n"},
		{"a key in lines", "p:\n  r:\n    t: []\n    # after\n  s: 1\nz: 1\n", "p.r.fs.read", "p:\n  r:\n    t: []\n    fs:\n      read: [\"+\"]\n    # after\n  s: 1\nz: 1\n"},
		{"a key without a value", "p:\n  r: # none\n  s: 1\n", "p.r.read", "p:\n  r: # none\n    read: [\"+\"]\n  s: 1\n"},
		{"a list without a value", "p:\n  r:\n", "p.r", "p:\n  r:\n    - \"+\"\n"},
		{"below an item", "a:\n  - id: x\n    c: {}\n  - id: y\n    h: |\n      text\n\n      more\nb: 1\n", "a.1.c.d", "a:\n  - id: x\n    c: {}\n  - id: y\n    h: |\n      text\n\n      more\n    c:\n      d: [\"+\"]\nb: 1\n"},
		{"lines of another machine", "a:\r\n  - x\r\nb: 1\r\n", "a", "a:\r\n  - x\r\n  - \"+\"\r\nb: 1\r\n"},
		{"a mark", "\ufeffa: [é, x]\n", "a", "\ufeffa: [é, x, \"+\"]\n"},
		{"json", "{\n  \"a\": {\"b\": 1}\n}\n", "a.c.d", "{\n  \"a\": {\"b\": 1, \"c\": {\"d\": [\"+\"]}}\n}\n"},
		{"json in lines", "{\n  \"a\": [\n    \"x\"\n  ]\n}\n", "a", "{\n  \"a\": [\n    \"x\",\n    \"+\"\n  ]\n}\n"},
		{"a key that needs quotes", "a:\n  b: 1\n", "on.x y", "a:\n  b: 1\n\"on\":\n  \"x y\": [\"+\"]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := yamledit.AddItem(tt.text, strings.Split(tt.path, "."), "+")
			if err != nil || got != tt.want {
				t.Errorf("AddItem = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	for _, text := range []string{"a: x\n", "a: from-personality\n", "a: 1\n", "a: {b: }\n", "a: [x\n", "a: &x [1]\n"} {
		if got, err := yamledit.AddItem(text, []string{"a", "b"}, "+"); !errors.Is(err, yamledit.ErrStyle) {
			t.Errorf("AddItem(%q) = %q, %v, want ErrStyle", text, got, err)
		}
	}
}

func TestRemoveItem(t *testing.T) {
	for _, tt := range []struct {
		name, text, path string
		index            int
		want             string
	}{
		{"the first", "a: [x, y, z] # why\n", "a", 0, "a: [y, z] # why\n"},
		{"the last", "a: [x, y, \"z, w\"]\n", "a", 2, "a: [x, y]\n"},
		{"the only one", "a: {b: [\"x\"]}\n", "a.b", 0, "a: {b: []}\n"},
		{"a line", "a:\n  # one\n  - x # two\n  - y\nb: 1\n", "a", 0, "a:\n  # one\n  - y\nb: 1\n"},
		{"the only line", "r:\n  a: # why\n    - x\n  b: 1\n", "r.a", 0, "r:\n  a: [] # why\n  b: 1\n"},
		{"brackets over lines", "a: [\n  x,\n  y,\n]\n", "a", 1, "a: [\n  x,\n]\n"},
		{"json", "{\"a\": [\"x\", \"y\"]}", "a", 1, "{\"a\": [\"x\"]}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := yamledit.RemoveItem(tt.text, strings.Split(tt.path, "."), tt.index)
			if err != nil || got != tt.want {
				t.Errorf("RemoveItem = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	if _, err := yamledit.RemoveItem("a: [x]\n", []string{"a"}, 1); !errors.Is(err, yamledit.ErrAbsent) {
		t.Errorf("RemoveItem of nothing = %v", err)
	}
	if _, err := yamledit.RemoveItem("a: [x]\n", []string{"b"}, 0); !errors.Is(err, yamledit.ErrAbsent) {
		t.Errorf("RemoveItem of no list = %v", err)
	}
}

// FuzzItems adds an item to any text and takes it off again. A text that is edited
// keeps every other byte.
func FuzzItems(f *testing.F) {
	for _, text := range []string{"a: [x]\n", "a:\n  - x # y\nb: {}\n", "{\"a\": [1]}", "a:\r\n- 'x'\r\n", "a: [\n x, #]\n y ]\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		added, err := yamledit.AddItem(text, []string{"a"}, "+")
		if err != nil {
			return
		}
		at, i := 0, 0
		for ; i < len(added) && at < len(text); i++ {
			if added[i] == text[at] {
				at++
			}
		}
		if at != len(text) {
			t.Errorf("AddItem(%q) = %q, which lost a part", text, added)
		}
	})
}
