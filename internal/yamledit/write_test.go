package yamledit

import (
	"errors"
	"testing"

	"github.com/sallyport/sallyport/internal/yamldoc"
	"pgregory.net/rapid"
)

func textOf(s string) *yamldoc.Value { return &yamldoc.Value{Kind: yamldoc.KindText, Text: s} }

func mappingOf(pairs ...any) *yamldoc.Value {
	n := &yamldoc.Value{Kind: yamldoc.KindMapping}
	for i := 0; i < len(pairs); i += 2 {
		n.Fields = append(n.Fields, yamldoc.Field{Name: pairs[i].(string), Value: pairs[i+1].(*yamldoc.Value)})
	}
	return n
}

func TestWrite(t *testing.T) {
	list := &yamldoc.Value{Kind: yamldoc.KindList}
	for range 12 {
		list.Items = append(list.Items, textOf("/a/long/folder"))
	}
	objects := &yamldoc.Value{Kind: yamldoc.KindList, Items: []*yamldoc.Value{
		mappingOf("a", textOf("a: b # c, d"), "long", textOf("0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789")),
		mappingOf("b", &yamldoc.Value{Kind: yamldoc.KindNumber, Text: "1.50"}),
	}}
	n := mappingOf("a", mappingOf("yes", textOf("yes"), "n", &yamldoc.Value{Kind: yamldoc.KindBool, Text: "true"}),
		"b", mappingOf("long", list, "deep", mappingOf("c", mappingOf("d", &yamldoc.Value{}))), "objects", objects, "none", &yamldoc.Value{Kind: yamldoc.KindList})
	got, err := Write(n)
	want := `a: {"yes": "yes", "n": true}
b:
  long:
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
    - "/a/long/folder"
  deep:
    c: {d: null}
objects:
  - a: "a: b # c, d"
    long: "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
  - b: 1.50
none: []
`
	if err != nil || got != want {
		t.Errorf("Write() = %v\n%s\nwant\n%s", err, got, want)
	}
}

func TestWriteRefusesWhatWouldReadDifferently(t *testing.T) {
	for _, n := range []*yamldoc.Value{
		mappingOf("a", textOf("\x1b[31m")), mappingOf("a\u202e", textOf("b")), mappingOf("a", textOf("a\xff")), mappingOf("a", textOf("a"), "a", textOf("b")),
		mappingOf("a", &yamldoc.Value{Kind: yamldoc.KindNumber, Text: "1\nb: 2"}),
	} {
		if got, err := Write(n); !errors.Is(err, ErrUnwritable) {
			t.Errorf("Write(%v) = %q, %v", n.Fields, got, err)
		}
	}
}

// TestWhatIsWrittenReadsTheSame: no text, however hostile, becomes anything else.
func TestWhatIsWrittenReadsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := mappingOf("a", mappingOf(rapid.String().Draw(t, "key"), &yamldoc.Value{Kind: yamldoc.KindList, Items: []*yamldoc.Value{textOf(rapid.String().Draw(t, "item"))}}),
			"b", textOf(rapid.StringMatching(`[-:#{}\[\],&*!|>'"%@ a\n]{0,12}`).Draw(t, "text")))
		text, err := Write(n)
		if errors.Is(err, ErrUnwritable) {
			return
		}
		again, err := readTree(text)
		if err != nil || len(again.root.Fields) != 2 {
			t.Fatalf("Write() = %q: %v", text, err)
		}
	})
}
