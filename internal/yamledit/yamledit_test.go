package yamledit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/yamledit"
)

func TestInsert(t *testing.T) {
	for _, tt := range []struct {
		name, text, path string
		lines            []string
		want             string
	}{
		{"nothing there", "version: 1\n", "a.b", []string{"c: 1", "d: 2"}, "version: 1\na:\n  b:\n    c: 1\n    d: 2\n"},
		{"no end of the last line", "version: 1", "a", []string{"b: 1"}, "version: 1\na:\n  b: 1\n"},
		{
			"between comments", "a: # x\n    # one\n    b: 1 # two\n    # three\n\n# of c\nc: 2\n", "a",
			[]string{"d: 3"},
			"a: # x\n    # one\n    b: 1 # two\n    d: 3\n    # three\n\n# of c\nc: 2\n",
		},
		{
			"comments of the last entry", "p:\n  x:\n    k: 1\n\n    # more\n    #l: 2\n\n# of z\nz: 1\n", "p",
			[]string{"y: 3"},
			"p:\n  x:\n    k: 1\n\n    # more\n    #l: 2\n  y: 3\n\n# of z\nz: 1\n",
		},
		{"a text like a comment", "p:\n  x: |\n    a\n    # b\nz: 1\n", "p", []string{"y: 3"}, "p:\n  x: |\n    a\n    # b\n  y: 3\nz: 1\n"},
		{"below two keys", "p:\n  x:\n    l:\n      - a\n  y: 1\nz: 1\n", "p.x.l", []string{"- b"}, "p:\n  x:\n    l:\n      - a\n      - b\n  y: 1\nz: 1\n"},
		{"a list at its key", "l:\n- a\nz: 1\n", "l", []string{"- b"}, "l:\n- a\n- b\nz: 1\n"},
		{"the key that is missing", "p:\n  x:\n    k: 1\nz: 1\n", "p.x.fs.read", []string{"- b"}, "p:\n  x:\n    k: 1\n    fs:\n      read:\n        - b\nz: 1\n"},
		{"quoted", "\"a\":\r\n  'b':\r\n    c: |\r\n      b:\r\n        d\r\nz: 1\r\n", "a.b", []string{"x: 1"}, "\"a\":\r\n  'b':\r\n    c: |\r\n      b:\r\n        d\r\n    x: 1\r\nz: 1\r\n"},
		{"a mark", "\ufeffa:\n  b: 1\n", "a", []string{"c: 2"}, "\ufeffa:\n  b: 1\n  c: 2\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := yamledit.Insert(tt.text, strings.Split(tt.path, "."), tt.lines)
			if err != nil || got != tt.want {
				t.Errorf("Insert = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
	for _, text := range []string{"a: {b: 1}\n", "a: [1]\n", "a:\n", "a: {}\n", "a: x\n"} {
		if got, err := yamledit.Insert(text, []string{"a"}, []string{"c: 2"}); !errors.Is(err, yamledit.ErrStyle) || !strings.Contains(err.Error(), "a is not") {
			t.Errorf("Insert(%q) = %q, %v, want ErrStyle", text, got, err)
		}
	}
}

// FuzzInsert holds that lines are added in one place and no byte is lost.
func FuzzInsert(f *testing.F) {
	f.Add("a:\n  b: 1 # x\n\nc: [1]\n")
	f.Add("a:\n  k: |\n    x:\n  b:\n  - 1")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := yamledit.Insert(text, []string{"a", "b"}, []string{"zz: 9"})
		if err != nil {
			return
		}
		if before, after := common(text, out, false), common(text, out, true); before+after < len(text) || !strings.Contains(out, "zz: 9") {
			t.Errorf("Insert(%q) = %q loses something", text, out)
		}
	})
}

// common is how many bytes two texts begin or end with alike.
func common(a, b string, end bool) int {
	i := 0
	for ; i < len(a) && i < len(b); i++ {
		if !end && a[i] != b[i] || end && a[len(a)-1-i] != b[len(b)-1-i] {
			break
		}
	}
	return i
}
