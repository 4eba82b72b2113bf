package browser

import (
	"errors"
	"slices"
	"strconv"

	"github.com/sallyport/sallyport/tools/browser/internal/wire"
)

const (
	// maxNodes bounds the nodes of a tree that are kept. A page of maxElements has fewer.
	maxNodes = 200_000
	// maxSaidBytes bounds what a node says that is no text, as JSON: numbers.
	maxSaidBytes = 1000
	// usualBytes is how long a node is in a message.
	usualBytes = 400
)

// axNode is a node of an accessibility tree.
type axNode struct {
	id                string
	ignored           bool
	role, name, value string
	properties        []axProperty
	childIDs          wire.Value
	dom               int64

	children []*axNode
	isChild  bool // of a node
	written  bool
}

type axProperty struct{ name, value string }

// shownProperties are the properties that an outline uses.
var shownProperties = []string{"focusable", "disabled", "required", "focused", "selected", "modal", "readonly", "checked", "pressed", "expanded", "invalid", "level", "url"}

// nodeList is the nodes of an answer that has them.
type nodeList []axNode

// readResult reads the nodes from the message itself, which has some hundred bytes for each
// and little that an outline uses.
func (list *nodeList) readResult(result wire.Value) error {
	answer, err := readMembers(result, "nodes")
	if err != nil || answer[0] == nil {
		return err
	}
	*list = make(nodeList, 0, min(len(answer[0])/usualBytes, maxNodes))
	for item, err := range answer[0].Items() {
		if err != nil {
			return err
		}
		var n axNode
		if err := n.readNode(item); err != nil {
			return err
		}
		if n.role == "InlineTextBox" {
			continue // It is a line of the text that it is in.
		}
		if len(*list) == maxNodes {
			return errTooLong
		}
		*list = append(*list, n)
	}
	return list.linkNodes()
}

// linkNodes finds the children of the nodes. A node is the child of one.
func (list nodeList) linkNodes() error {
	byID := make(map[string]*axNode, len(list))
	for i := range list {
		byID[list[i].id] = &list[i]
	}
	for i := range list {
		n := &list[i]
		if n.childIDs == nil {
			continue
		}
		for id, err := range n.childIDs.Items() {
			if err != nil {
				return err
			}
			if child := byID[string(id.UTF8())]; child != nil && !child.isChild {
				child.isChild = true
				n.children = append(n.children, child)
			}
		}
		n.childIDs = nil
	}
	return nil
}

var errNode = errors.New("a node is not as the protocol has it")

func (n *axNode) readNode(v wire.Value) error {
	for m, err := range v.Members() {
		if err != nil {
			return err
		}
		ok := true
		switch string(m.Key.UTF8()) {
		case "nodeId":
			n.id, ok = m.Value.Text()
		case "ignored":
			n.ignored, ok = m.Value.Truth()
		case "role":
			n.role, err = readAXValue(m.Value)
		case "name":
			n.name, err = readAXValue(m.Value)
		case "value":
			n.value, err = readAXValue(m.Value)
		case "properties":
			n.properties, err = readProperties(m.Value)
		case "childIds":
			n.childIDs = m.Value
		case "backendDOMNodeId":
			n.dom, ok = m.Value.Number()
		}
		if err != nil {
			return err
		}
		if !ok {
			return errNode
		}
	}
	return nil
}

// readAXValue reads what a node says of itself: a text, or what is none as it is in JSON.
func readAXValue(v wire.Value) (s string, err error) {
	for m, err := range v.Members() {
		if err != nil {
			return "", err
		}
		if !m.Is("value") {
			continue
		}
		if s, err = readSaid(m.Value); err != nil {
			return "", err
		}
	}
	return s, nil
}

func readSaid(v wire.Value) (string, error) {
	if s, ok := v.Text(); ok {
		return s, nil
	}
	if truth, ok := v.Truth(); ok {
		return strconv.FormatBool(truth), nil
	}
	text, err := v.JSON(maxSaidBytes)
	return string(text), err
}

func readProperties(v wire.Value) (list []axProperty, err error) {
	for item, err := range v.Items() {
		if err != nil {
			return nil, err
		}
		p, err := readProperty(item)
		if err != nil {
			return nil, err
		}
		if p.name != "" {
			list = append(list, p)
		}
	}
	return list, nil
}

// readProperty reads a property; one that an outline does not use has no name.
func readProperty(v wire.Value) (p axProperty, err error) {
	var value wire.Value
	for m, err := range v.Members() {
		switch {
		case err != nil:
			return p, err
		case m.Is("name"):
			p.name = ""
			if i := slices.Index(shownProperties, string(m.Value.UTF8())); i >= 0 {
				p.name = shownProperties[i]
			}
		case m.Is("value"):
			value = m.Value
		}
	}
	if p.name != "" && value != nil {
		p.value, err = readAXValue(value)
	}
	return p, err
}
