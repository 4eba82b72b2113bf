package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/tools/browser/internal/wire"
)

// FuzzNodes holds the nodes of a JSON text to encoding/json. What is no JSON text is read as
// it is.
func FuzzNodes(f *testing.F) {
	for _, seed := range []string{
		`{"nodes":[{"nodeId":"1","ignored":false,"role":{"type":"internalRole","value":"RootWebArea"},"chromeRole":{"value":144},"name":{"value":"é\u2028","sources":[{"type":"attribute"}]},"properties":[],"childIds":["2","9"],"backendDOMNodeId":1},
		  {"nodeId":"2","role":{"value":"heading"},"value":{"value":4.5},"properties":[{"name":"level","value":{"type":"integer","value":2}},{"name":"hidden","value":{"value":true}},{"name":"focusable","value":{"value":true}},{"name":"url","value":{}},{"value":{"value":1}}],"parentId":"1","childIds":["3","1","3"]},
		  {"nodeId":"3","role":{"value":"InlineTextBox"},"childIds":[]},{"nodeId":"","name":{"value":null},"role":{},"value":{"value":{"b":[true]}},"childIds":["2",""]}]}`,
		`{"nodes":[{"nodeId":"1","nodeId":"2","name":{"value":"a","value":"b"},"NodeId":3},{"nodeId":"2"}],"nodes":[{"nodeId":"3"}]}`,
		`{"nodes":[{"nodeId":1}]}`, `{"nodes":[{"backendDOMNodeId":1.5}]}`, `{"nodes":null}`, `{}`, `[]`, "\xd8\x18\x5a\x00\x00\x00\x02\xbf\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		message, err := wire.FromJSON(text)
		isJSON := err == nil
		if !isJSON {
			message = text
		}
		var list nodeList
		if err := list.readResult(message); err != nil {
			return
		}
		parents := map[*axNode]int{}
		for i := range list {
			for _, child := range list[i].children {
				parents[child]++
			}
		}
		for child, n := range parents {
			if n != 1 {
				t.Errorf("%s is a child of %d nodes", child.id, n)
			}
		}
		if isJSON {
			compareNodes(t, list, text)
		}
	})
}

// compareNodes compares nodes with what encoding/json says of them.
func compareNodes(t *testing.T, list nodeList, text []byte) {
	t.Helper()
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	var nodes []map[string]any
	if said := answer["nodes"]; said != nil {
		if err := json.Unmarshal(said, &nodes); err != nil {
			t.Fatalf("%s was read, and has no nodes: %v", text, err)
		}
	}
	nodes = slices.DeleteFunc(nodes, func(n map[string]any) bool { return same(valueOf(n["role"]), "InlineTextBox") })
	if len(nodes) != len(list) {
		t.Fatalf("%s: %d nodes, want %d", text, len(list), len(nodes))
	}
	for i, want := range nodes {
		n := &list[i]
		id, _ := want["nodeId"].(string)
		ignored, _ := want["ignored"].(bool)
		dom, _ := want["backendDOMNodeId"].(float64)
		if n.id != id || n.ignored != ignored || float64(n.dom) != dom {
			t.Errorf("%s: node %d is %q, %v, %d", text, i, n.id, n.ignored, n.dom)
		}
		for field, got := range map[string]string{"role": n.role, "name": n.name, "value": n.value} {
			if said, isSaid := want[field]; isSaid && !same(valueOf(said), got) || !isSaid && got != "" {
				t.Errorf("%s: %s of node %d is %q", text, field, i, got)
			}
		}
		var properties []axProperty
		told, _ := want["properties"].([]any)
		for _, p := range told {
			p := p.(map[string]any)
			if name, _ := p["name"].(string); slices.Contains(shownProperties, name) {
				properties = append(properties, axProperty{name: name})
			}
		}
		if len(properties) != len(n.properties) {
			t.Errorf("%s: properties of node %d are %v, want %v", text, i, n.properties, properties)
		}
	}
}

// absent is a value that a node does not have.
type absent struct{}

func valueOf(said any) any {
	object, _ := said.(map[string]any)
	value, ok := object["value"]
	if !ok {
		return absent{}
	}
	return value
}

// same reports whether a text is a value of a node: as it is, or as JSON.
func same(value any, got string) bool {
	switch value := value.(type) {
	case absent:
		return got == ""
	case string:
		return got == value
	default:
		var decoded any
		return json.Unmarshal([]byte(got), &decoded) == nil && reflect.DeepEqual(decoded, value)
	}
}

func TestNodesAreRead(t *testing.T) {
	t.Parallel()
	var list nodeList
	err := list.readResult(messageOf(t, `{"nodes":[
		{"nodeId":"1","role":{"value":"form"},"name":{"value":"a","sources":[{"value":{"value":"b"}}]},"childIds":["2","-5","2","1"],"backendDOMNodeId":7},
		{"nodeId":"-5","ignored":true,"role":{"value":"InlineTextBox"}},
		{"nodeId":"2","role":{"value":"checkbox"},"value":{"value":3},"properties":[{"name":"checked","value":{"value":"mixed"}},{"name":"live","value":{"value":"polite"}},{"name":"disabled","value":{"value":true}}],"childIds":["1"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	form, box := &list[0], &list[1]
	if len(list) != 2 || form.role != "form" || form.name != "a" || form.dom != 7 || !slices.Equal(form.children, []*axNode{box, form}) {
		t.Errorf("the first node is %+v", form)
	}
	if want := []axProperty{{"checked", "mixed"}, {"disabled", "true"}}; box.value != "3" || !slices.Equal(box.properties, want) || len(box.children) != 0 {
		t.Errorf("the second node is %+v", box)
	}
	o := outline{tree: &accessTree{}, refs: &refTable{}}
	o.writeNode(form, 0, "")
	if want := []string{`- form "a" [e1]`, `  - checkbox value="3" checked=mixed disabled`}; !slices.Equal(o.lines, want) {
		t.Errorf("the outline is %q", o.lines)
	}
	for _, text := range []string{
		`[]`, `{"nodes":{}}`, `{"nodes":[1]}`, `{"nodes":[{"nodeId":1}]}`, `{"nodes":[{"ignored":"no"}]}`, `{"nodes":[{"name":"x"}]}`, `{"nodes":[{"properties":{}}]}`,
		`{"nodes":[{"properties":["x"]}]}`, `{"nodes":[{"childIds":"x"}]}`, `{"nodes":[{"backendDOMNodeId":"1"}]}`, `{"nodes":[{"value":{"value":` + strings.Repeat("[", 400) + strings.Repeat("]", 400) + `}}]}`,
	} {
		if err := new(nodeList).readResult(messageOf(t, text)); err == nil {
			t.Errorf("%.80s was read", text)
		}
	}
}

// manyNodes is a list of nodes that f writes.
func manyNodes(t testing.TB, n int, f func(i int) string) wire.Value {
	t.Helper()
	nodes := make([]string, n)
	for i := range nodes {
		nodes[i] = f(i)
	}
	return messageOf(t, `{"nodes":[`+strings.Join(nodes, ",")+`]}`)
}

func TestTreesAreBounded(t *testing.T) {
	t.Parallel()
	nothing := func(int) string { return `{}` }
	if err := new(nodeList).readResult(manyNodes(t, maxNodes, nothing)); err != nil {
		t.Errorf("%d nodes: %v", maxNodes, err)
	}
	if err := new(nodeList).readResult(manyNodes(t, maxNodes+1, nothing)); !errors.Is(err, errTooLong) {
		t.Errorf("%d nodes: %v", maxNodes+1, err)
	}
	lines := func(i int) string { return `{"role":{"value":"InlineTextBox"}}` }
	if err := new(nodeList).readResult(manyNodes(t, maxNodes+1, lines)); err != nil {
		t.Errorf("%d lines of text: %v", maxNodes+1, err)
	}
	var deep nodeList
	if err := deep.readResult(manyNodes(t, maxNodes, func(i int) string {
		return fmt.Sprintf(`{"nodeId":"%d","role":{"value":"group"},"childIds":["%d"]}`, i, i+1)
	})); err != nil {
		t.Fatal(err)
	}
	// The frame that the last node holds is the whole page again, and so on.
	o := outline{tree: &accessTree{frames: map[int64]*axNode{1: &deep[0]}}, refs: &refTable{}}
	o.writeNode(&deep[0], 0, "")
	if len(o.lines) != maxLevels {
		t.Errorf("%d levels are shown, want %d", len(o.lines), maxLevels)
	}
	// Of a node that many others name, one is its parent.
	var shared nodeList
	ids := strings.TrimSuffix(strings.Repeat(`"",`, 10_000), ",")
	if err := shared.readResult(manyNodes(t, 2, func(i int) string { return `{"nodeId":"","childIds":[` + ids + `]}` })); err != nil || len(shared[0].children) != 1 || len(shared[1].children) != 0 {
		t.Errorf("children of one name: %d and %d, %v", len(shared[0].children), len(shared[1].children), err)
	}
}

// BenchmarkReadNodes reads what Chromium says of a page of 5,000 nodes.
func BenchmarkReadNodes(b *testing.B) {
	message := manyNodes(b, 7500, func(i int) string {
		id := strconv.Itoa(i)
		return `{"nodeId":"` + id + `","ignored":false,"role":{"type":"role","value":"` + []string{"link", "StaticText", "InlineTextBox"}[i%3] + `"},"chromeRole":{"type":"internalRole","value":110},` +
			`"name":{"type":"computedString","value":"link ` + id + `","sources":[{"type":"relatedElement","attribute":"aria-labelledby"},{"type":"attribute","attribute":"aria-label"},{"type":"contents","value":{"type":"computedString","value":"link ` + id + `"}},{"type":"attribute","attribute":"title","superseded":true}]},` +
			`"properties":[{"name":"focusable","value":{"type":"booleanOrUndefined","value":true}},{"name":"url","value":{"type":"string","value":"http://127.0.0.1:1234/` + id + `"}}],"parentId":"8","childIds":["` + strconv.Itoa(i+1) + `"],"backendDOMNodeId":` + id + `}`
	})
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		var list nodeList
		if err := list.readResult(message); err != nil {
			b.Fatal(err)
		}
	}
}
