package browser

import (
	"context"
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
	// maxLevels bounds how deep a tree is shown.
	maxLevels = 10_000
)

// accessTree is the accessibility tree of a page with its frames.
type accessTree struct {
	root   *axNode
	nodes  []nodeList        // of the page, and of its frames
	frames map[int64]*axNode // the root of the frame that an element holds
}

// holds reports whether the tree has an element.
func (tree *accessTree) holds(dom int64) bool {
	for _, list := range tree.nodes {
		for i := range list {
			if list[i].dom == dom {
				return true
			}
		}
	}
	return false
}

// readTree reads the tree of a page, or what is below one element of it; 0 is none. The root
// is nil when that element is not shown.
func (t *tab) readTree(ctx context.Context, below int64) (tree *accessTree, err error) {
	tree = &accessTree{frames: map[int64]*axNode{}}
	if below == 0 {
		tree.root, err = t.readFrame(ctx, tree, "")
	} else {
		tree.root, err = t.readElement(ctx, tree, below)
	}
	if err != nil || tree.root == nil {
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

func (t *tab) readFrame(ctx context.Context, tree *accessTree, frame string) (root *axNode, err error) {
	params := object{}
	if frame != "" {
		params["frameId"] = frame
	}
	var nodes nodeList
	if err := t.askBrowser(ctx, "Accessibility.getFullAXTree", params, &nodes); err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, errors.New("a tree without nodes")
	}
	tree.nodes = append(tree.nodes, nodes)
	return &nodes[0], nil
}

// readElement reads what is below an element. The root is nil where the element is not
// shown.
func (t *tab) readElement(ctx context.Context, tree *accessTree, dom int64) (root *axNode, err error) {
	var nodes nodeList
	err = t.askBrowser(ctx, "Accessibility.queryAXTree", object{"backendNodeId": dom}, &nodes)
	if _, refused := errors.AsType[*protocolError](err); refused {
		return nil, nil // It is gone.
	}
	if err != nil {
		return nil, err
	}
	tree.nodes = append(tree.nodes, nodes)
	for i := range nodes {
		if n := &nodes[i]; n.dom == dom && !n.ignored {
			return n, nil
		}
	}
	return nil, nil
}

// outline writes a tree as lines.
type outline struct {
	tree  *accessTree
	refs  *refTable
	lines []string
	text  []string // what stands beside each other
	depth int      // of text
	level int      // of the node that is being written
}

// silent are roles that say nothing by themselves: only what is in them is shown.
var silent = []string{"none", "generic", "RootWebArea", "InlineTextBox", "LineBreak", "StaticText", "LabelText", "paragraph", "Iframe", "IframePresentational", "MenuListPopup"}

// writeNode writes what is below a node, and the node itself where it says something.
func (o *outline) writeNode(n *axNode, depth int, above string) {
	if n.written || o.level == maxLevels {
		return // What the browser calls a tree need not be one.
	}
	n.written = true
	o.level++
	defer func() { o.level-- }()
	role, name := n.role, text.OneLine(n.name)
	if role == "StaticText" && !n.ignored {
		if name != "" && !strings.Contains(above, name) {
			o.text, o.depth = append(o.text, name), depth
		}
		return
	}
	shown := !n.ignored && (!slices.Contains(silent, role) || role == "generic" && n.isFocusable())
	if shown {
		o.endText()
		label := role
		if name != "" {
			label += " " + quoteName(name)
		}
		o.addLine(depth, label+n.state()+n.refSuffix(o.refs, label))
		depth, above = depth+1, text.FirstBytes(name, 8*maxNameChars)+"\n"+text.FirstBytes(n.value, 8*maxNameChars)
	} else if role == "paragraph" {
		o.endText()
	}
	for _, child := range n.children {
		o.writeNode(child, depth, above)
	}
	if root, ok := o.tree.frames[n.dom]; ok && n.dom != 0 {
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
	if n.dom == 0 {
		return ""
	}
	name := refs.nameOf(n.dom, label)
	if name == "" {
		return ""
	}
	return " [" + name + "]"
}

func (n *axNode) isFocusable() bool {
	return slices.ContainsFunc(n.properties, func(p axProperty) bool { return p.name == "focusable" && p.value == "true" })
}

// state returns what a node says beside its name: its value, and what is not as usual.
func (n *axNode) state() string {
	var b strings.Builder
	if v := text.OneLine(n.value); v != "" {
		b.WriteString(" value=" + quoteName(v))
	}
	for _, p := range n.properties {
		v := p.value
		switch p.name {
		case "disabled", "required", "focused", "selected", "modal", "readonly":
			if v == "true" {
				b.WriteString(" " + p.name)
			}
		case "checked", "pressed", "expanded":
			if v == "true" || v == "false" || v == "mixed" {
				b.WriteString(" " + p.name + "=" + v)
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
	if tree.root == nil {
		return nil, "", sallyport.InputInvalid(ref + " is not shown on this page any more; browser_snapshot without ref shows what is")
	}
	t.b.mu.Lock()
	defer t.b.mu.Unlock()
	o := &outline{tree: tree, refs: &t.refs}
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
