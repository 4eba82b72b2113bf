package yamldoc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

var wide = Bounds{Bytes: 1 << 20, YAMLBytes: 1 << 16, YAMLKeys: 100}

func TestReadDocument(t *testing.T) {
	for name, text := range map[string]string{
		"doc.yaml": "a: {b/c: [x, 1.5, true, null]}\n200: {}\n",
		"doc.json": "{\"a\": {\"b/c\": [\"x\", 1.5, true, null]},\n\"200\": {}}",
	} {
		d, err := ReadDocument(name, []byte(text), wide)
		if err != nil {
			t.Fatal(err)
		}
		root := d.Root()
		list := root.Find("/a/b~1c")
		items := list.Items()
		if !list.IsList() || len(items) != 4 || list.Kind() != "a list" || len(root.Members()) != 2 {
			t.Fatalf("%s: /a/b~1c is %s of %d", name, list.Kind(), len(items))
		}
		s, isText := items[0].Text()
		n, isNumber := items[1].Number()
		v, isBool := items[2].Bool()
		if s != "x" || !isText || n != "1.5" || !isNumber || !v || !isBool || !items[3].IsNull() {
			t.Errorf("%s: items are %q %q %t", name, s, n, v)
		}
		if line, column := root.Get("200").Position(); line != 2 || column != 1 || d.Place(root.Get("200")) != name+":2:1" {
			t.Errorf("%s: 200 stands at %d:%d", name, line, column)
		}
		if !root.Find("/a/b~1c/0").Same(items[0]) || root.Find("").Kind() != "a mapping" {
			t.Errorf("%s: a pointer leads elsewhere", name)
		}
		for _, nowhere := range []Node{root.Get("x"), root.Find("/a/x"), root.Find("a"), root.Find("/a/b~1c/9"), root.Find("/a/b~1c/0/1"), items[0].Get("x"), (Node{}).Find("/x")} {
			if _, ok := nowhere.Text(); ok || nowhere.Present() || nowhere.IsMapping() || nowhere.Members() != nil || nowhere.Items() != nil || nowhere.Kind() != "nothing" {
				t.Errorf("%s: something is there: %+v", name, nowhere)
			}
		}
		if f := d.Fault(list, "no"); f.Error() != name+":1:"+fmt.Sprint(f.Column)+": no" || f.Snippet == "" {
			t.Errorf("%s: fault %+v", name, f)
		}
	}
}

func TestReadDocumentRefuses(t *testing.T) {
	var keys strings.Builder
	for i := range 101 {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"empty", " \n", "d:1:1: the file is empty"},
		{"twice", "a: 1\nb: {c: 1, c: 2}", "d:2:11: the key \"c\" stands twice: first in line 2"},
		{"twice in JSON", "[{\"a\": 1,\n \"a\": 2}]", "d:2:2: the key \"a\" stands twice: first in line 1"},
		{"many keys", keys.String(), "more than 100 keys in one file"},
		{"large YAML", "a: " + strings.Repeat("x", 1<<16), "the file is larger than 65536 bytes, the bound for YAML: JSON may have 1048576"},
		{"large", strings.Repeat(" ", 1<<20+1), "the file is larger than 1048576 bytes"},
		{"anchor", "a: &b 1", "anchors and aliases are not accepted"},
	} {
		d, err := ReadDocument("d", []byte(tt.text), wide)
		if _, ok := errors.AsType[Faults](err); !ok || d != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: ReadDocument = %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := ReadDocument("d", []byte(`"`+strings.Repeat("x", 1<<17)+`"`), wide); err != nil {
		t.Errorf("ReadDocument of JSON of that size = %v", err)
	}
}
