package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxElements and maxTextChars bound a page whose tree is read. A larger page is shown
	// as text.
	maxElements, maxTextChars = 20_000, 2_000_000
	// maxFrames bounds the frames of a page that are read beside it.
	maxFrames = 20
	// maxNameChars bounds the name or the value of a node.
	maxNameChars = 500
	// maxPlainChars bounds the text of a page that is too large for its tree.
	maxPlainChars = 60_000
	// maxIndent bounds how far a line is indented: pages nest as deep as they like.
	maxIndent = 20
)

// axNode is a node of an accessibility tree.
type axNode struct {
	ID         string       `json:"nodeId"`
	Ignored    bool         `json:"ignored"`
	Role       axValue      `json:"role"`
	Name       axValue      `json:"name"`
	Value      axValue      `json:"value"`
	Properties []axProperty `json:"properties"`
	Children   []string     `json:"childIds"`
	DOM        int64        `json:"backendDOMNodeId"`
}

type axProperty struct {
	Name  string  `json:"name"`
	Value axValue `json:"value"`
}

type axValue struct {
	Value json.RawMessage `json:"value"`
}

// String returns the value, without quotes where it is a text.
func (v axValue) String() string {
	var s string
	if len(v.Value) > 0 && v.Value[0] == '"' && json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	return string(v.Value)
}

// accessTree is the accessibility tree of a page with its frames.
type accessTree struct {
	nodes  map[string]*axNode // by frame and id
	frames map[int64]string   // the root of the frame that an element holds
	root   string
}

// holds reports whether the tree has an element.
func (tree *accessTree) holds(dom int64) bool {
	for _, n := range tree.nodes {
		if n.DOM == dom {
			return true
		}
	}
	return false
}

// readTree reads the tree of a page, or what is below one element of it; 0 is none. The root
// is empty when that element is not shown.
func (t *tab) readTree(ctx context.Context, below int64) (tree *accessTree, err error) {
	tree = &accessTree{nodes: map[string]*axNode{}, frames: map[int64]string{}}
	if below == 0 {
		tree.root, err = t.readFrame(ctx, tree, "")
	} else {
		tree.root, err = t.readElement(ctx, tree, below)
	}
	if err != nil || tree.root == "" {
		return tree, err
	}
	var all struct {
		FrameTree frameTree `json:"frameTree"`
	}
	if err := t.askBrowser(ctx, "Page.getFrameTree", nil, &all); err != nil {
		return nil, err
	}
	for _, id := range all.FrameTree.listBelow(maxFrames) {
		var owner struct {
			DOM int64 `json:"backendNodeId"`
		}
		// A frame that went away is none.
		if t.askBrowser(ctx, "DOM.getFrameOwner", object{"frameId": id}, &owner) != nil || !tree.holds(owner.DOM) {
			continue
		}
		if root, err := t.readFrame(ctx, tree, id); err == nil {
			tree.frames[owner.DOM] = root
		} else if ctx.Err() != nil {
			return nil, err
		}
	}
	return tree, nil
}

// frameTree is the frames of a page.
type frameTree struct {
	Frame struct {
		ID string `json:"id"`
	} `json:"frame"`
	ChildFrames []frameTree `json:"childFrames"`
}

// listBelow returns the first frames below this one.
func (f *frameTree) listBelow(most int) (ids []string) {
	for i := range f.ChildFrames {
		child := &f.ChildFrames[i]
		ids = append(append(ids, child.Frame.ID), child.listBelow(most)...)
	}
	return ids[:min(len(ids), most)]
}

func (t *tab) readFrame(ctx context.Context, tree *accessTree, frame string) (root string, err error) {
	params := object{}
	if frame != "" {
		params["frameId"] = frame
	}
	var got struct {
		Nodes []axNode `json:"nodes"`
	}
	if err := t.askBrowser(ctx, "Accessibility.getFullAXTree", params, &got); err != nil {
		return "", err
	}
	if len(got.Nodes) == 0 {
		return "", errors.New("a tree without nodes")
	}
	tree.addNodes(frame, got.Nodes)
	return frame + "/" + got.Nodes[0].ID, nil
}

// readElement reads what is below an element. The root is empty where the element is not
// shown.
func (t *tab) readElement(ctx context.Context, tree *accessTree, dom int64) (root string, err error) {
	var got struct {
		Nodes []axNode `json:"nodes"`
	}
	err = t.askBrowser(ctx, "Accessibility.queryAXTree", object{"backendNodeId": dom}, &got)
	if _, refused := errors.AsType[*protocolError](err); refused {
		return "", nil // It is gone.
	}
	if err != nil {
		return "", err
	}
	const part = "element"
	tree.addNodes(part, got.Nodes)
	for i := range got.Nodes {
		if n := &got.Nodes[i]; n.DOM == dom && !n.Ignored {
			return part + "/" + n.ID, nil
		}
	}
	return "", nil
}

// addNodes adds the nodes of a frame.
func (tree *accessTree) addNodes(frame string, nodes []axNode) {
	for i := range nodes {
		n := &nodes[i]
		for j := range n.Children {
			n.Children[j] = frame + "/" + n.Children[j]
		}
		tree.nodes[frame+"/"+n.ID] = n
	}
}

// outline writes a tree as lines.
type outline struct {
	tree  *accessTree
	refs  *refTable
	lines []string
	// seen keeps a tree that is none from being walked for ever.
	seen  map[string]bool
	text  []string // what stands beside each other
	depth int      // of text
}

// silent are roles that say nothing by themselves: only what is in them is shown.
var silent = []string{"none", "generic", "RootWebArea", "InlineTextBox", "LineBreak", "StaticText", "LabelText", "paragraph", "Iframe", "IframePresentational", "MenuListPopup"}

// writeNode writes what is below a node, and the node itself where it says something.
func (o *outline) writeNode(id string, depth int, above string) {
	n := o.tree.nodes[id]
	if n == nil || o.seen[id] {
		return
	}
	o.seen[id] = true
	role, name := n.Role.String(), text.OneLine(n.Name.String())
	if role == "StaticText" && !n.Ignored {
		if name != "" && !strings.Contains(above, name) {
			o.text, o.depth = append(o.text, name), depth
		}
		return
	}
	shown := !n.Ignored && (!slices.Contains(silent, role) || role == "generic" && n.isFocusable())
	if shown {
		o.endText()
		label := role
		if name != "" {
			label += " " + quoteName(name)
		}
		o.addLine(depth, label+n.state()+n.refSuffix(o.refs, label))
		depth, above = depth+1, text.FirstBytes(name, 8*maxNameChars)+"\n"+text.FirstBytes(n.Value.String(), 8*maxNameChars)
	} else if role == "paragraph" {
		o.endText()
	}
	for _, child := range n.Children {
		o.writeNode(child, depth, above)
	}
	if root, ok := o.tree.frames[n.DOM]; ok && n.DOM != 0 {
		o.writeNode(root, depth, "")
	}
	if shown || role == "paragraph" {
		o.endText()
	}
}

// endText writes the texts that were met as one line.
func (o *outline) endText() {
	if len(o.text) > 0 {
		o.addLine(o.depth, "text: "+quoteName(strings.Join(o.text, " ")))
	}
	o.text = nil
}

func (o *outline) addLine(depth int, line string) {
	o.lines = append(o.lines, strings.Repeat("  ", min(depth, maxIndent))+"- "+line)
}

// quoteName writes a text of the page so that it cannot be taken for the outline.
func quoteName(s string) string { return strconv.Quote(text.Clip(s, maxNameChars)) }

func (n *axNode) refSuffix(refs *refTable, label string) string {
	if n.DOM == 0 {
		return ""
	}
	name := refs.nameOf(n.DOM, label)
	if name == "" {
		return ""
	}
	return " [" + name + "]"
}

func (n *axNode) isFocusable() bool {
	return slices.ContainsFunc(n.Properties, func(p axProperty) bool { return p.Name == "focusable" && p.Value.String() == "true" })
}

// state returns what a node says beside its name: its value, and what is not as usual.
func (n *axNode) state() string {
	var b strings.Builder
	if v := text.OneLine(n.Value.String()); v != "" {
		b.WriteString(" value=" + quoteName(v))
	}
	for _, p := range n.Properties {
		v := p.Value.String()
		switch p.Name {
		case "disabled", "required", "focused", "selected", "modal", "readonly":
			if v == "true" {
				b.WriteString(" " + p.Name)
			}
		case "checked", "pressed", "expanded":
			if v == "true" || v == "false" || v == "mixed" {
				b.WriteString(" " + p.Name + "=" + v)
			}
		case "invalid":
			if v != "false" && v != "" {
				b.WriteString(" invalid")
			}
		case "level":
			if _, err := strconv.Atoi(v); err == nil {
				b.WriteString(" level=" + v)
			}
		case "url":
			b.WriteString(" url=" + quoteName(text.ClipBytes(v, maxNameChars)))
		}
	}
	return b.String()
}

// readOutline returns the lines of a page, or of what is below one element of it. note
// says what they lack.
func (t *tab) readOutline(ctx context.Context, ref string) (lines []string, note string, err error) {
	var large bool
	look := fmt.Sprintf("document.getElementsByTagName('*').length > %d || (document.documentElement?.textContent ?? '').length > %d", maxElements, maxTextChars)
	if err := t.runApart(ctx, look, &large); err != nil {
		return nil, "", err
	}
	var below int64
	if ref != "" && !large {
		n, err := t.findNode(ref)
		if err != nil {
			return nil, "", err
		}
		below = n.id
	}
	var tree *accessTree
	if !large {
		tree, err = t.readTree(ctx, below)
		if err != nil && !errors.Is(err, errTooLong) {
			return nil, "", err
		}
	}
	if large || err != nil {
		lines, err = t.readPlain(ctx)
		return lines, fmt.Sprintf("the page is too large for its elements to be shown: it has more than %d of them, or %d characters; this is the beginning of its text", maxElements, maxTextChars), err
	}
	if tree.root == "" {
		return nil, "", sallyport.InputInvalid(ref + " is not shown on this page any more; browser_snapshot without ref shows what is")
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	o := &outline{tree: tree, refs: &t.refs, seen: map[string]bool{}}
	o.writeNode(tree.root, 0, "")
	o.endText()
	return o.lines, "", nil
}

// readPlain returns the beginning of the text of a page, line by line.
func (t *tab) readPlain(ctx context.Context) ([]string, error) {
	var s string
	walk := fmt.Sprintf(`(most => {
		const walker = document.createTreeWalker(document.body ?? document, NodeFilter.SHOW_TEXT);
		let s = '';
		for (let n, seen = 0; s.length < most && seen < 20 * most && (n = walker.nextNode()); seen++) {
			if (!['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE'].includes(n.parentNode?.nodeName)) s += n.data.slice(0, most) + '\n';
		}
		return s.slice(0, most);
	})(%d)`, maxPlainChars)
	if err := t.runApart(ctx, walk, &s); err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(s) {
		words := []rune(text.OneLine(line))
		for part := range slices.Chunk(words, maxNameChars) {
			lines = append(lines, string(part))
		}
	}
	return lines, nil
}
