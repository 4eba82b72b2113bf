package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// maxOperations bounds the operations of a document.
const maxOperations = 10_000

// methods are the operations of a path in OpenAPI, by key. What an action
// cannot send has no method.
var methods = map[string]string{
	"get": "GET", "head": "HEAD", "post": "POST", "put": "PUT", "patch": "PATCH", "delete": "DELETE", "options": "", "trace": "",
}

type operation struct {
	yamldoc.Node
	method, path string
	holder       yamldoc.Node // the path item
	// name is the operationId, id the name of the action.
	name, id string
	tags     []string
}

// methodAndPath names the operation as people do.
func (op *operation) methodAndPath() string { return op.method + " " + op.path }

// listOperations lists the operations that are chosen. Ids are given before the
// choice, so that they do not depend on it.
func (im *importer) listOperations() ([]operation, error) {
	paths := im.doc.Root().Get("paths")
	if !paths.IsMapping() {
		if !paths.Present() {
			paths = im.doc.Root()
		}
		return nil, im.newFault(paths, "paths: expected a mapping of paths to operations")
	}
	var all []operation
	for _, m := range paths.Members() {
		if strings.HasPrefix(m.Name, "x-") {
			continue
		}
		item, err := im.followRef(m.Node)
		if err != nil {
			im.addNote(m.Node, LeftOut, "%s: %v", m.Name, err)
			continue
		}
		if !item.IsMapping() {
			return nil, im.newFault(m.Node, "%s: expected operations, found %s", m.Name, item.Kind())
		}
		found, err := im.pathOperations(m.Name, item)
		if err != nil {
			return nil, err
		}
		if all = append(all, found...); len(all) > maxOperations {
			return nil, im.newFault(m.Node, "more than %d operations", maxOperations)
		}
	}
	if len(all) == 0 {
		return nil, im.newFault(paths, "paths: the document has no operations that an action could send")
	}
	im.assignIDs(all)
	return im.chooseOperations(all)
}

func (im *importer) pathOperations(path string, item yamldoc.Node) (found []operation, err error) {
	for _, m := range item.Members() {
		method, known := methods[m.Name]
		switch {
		case !known:
			continue
		case !m.IsMapping():
			return nil, im.newFault(m.Node, "%s %s: expected an operation, found %s", m.Name, path, m.Kind())
		case method == "":
			im.addNote(m.Node, LeftOut, "%s %s: an action sends no such request", strings.ToUpper(m.Name), path)
			continue
		}
		op := operation{Node: m.Node, method: method, path: path, holder: item}
		op.name, _ = m.Get("operationId").Text()
		for _, t := range m.Get("tags").Items() {
			if s, ok := t.Text(); ok {
				op.tags = append(op.tags, s)
			}
		}
		found = append(found, op)
	}
	return found, nil
}

// assignIDs gives every operation an id of its own.
func (im *importer) assignIDs(ops []operation) {
	used := map[string]bool{}
	for _, id := range im.o.Taken {
		used[id] = true
	}
	for i := range ops {
		op := &ops[i]
		name := cmp.Or(op.name, strings.ToLower(op.method)+strings.TrimRight(toWord(op.path, "-"), "_"))
		name = toWord(im.o.Prefix+name, "-")
		if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
			name = "mcp_" + rest // mcp__ is of MCP servers
		}
		if !im.texts.isExact(name) {
			name = "operation"
		}
		op.id = uniqueName(shortenID(name), used)
		used[op.id] = true
	}
}

// maxID is the length of the id of an action.
const maxID = 64

// shortenID cuts a name as names of MCP tools are cut: to it, a _ and six digits
// of the digest.
func shortenID(name string) string {
	if len(name) <= maxID {
		return name
	}
	return name[:maxID-7] + "_" + digest.Text(name)[:6]
}

// uniqueName numbers a name that is used.
func uniqueName(name string, used map[string]bool) string {
	for i := 2; used[name]; i++ {
		number := "_" + strconv.Itoa(i)
		base := strings.TrimSuffix(name, "_"+strconv.Itoa(i-1))
		if i == 2 {
			base = name
		}
		if len(base)+len(number) > maxID && len(name) <= maxID {
			base = base[:maxID-len(number)]
		}
		name = base + number
	}
	return name
}

// chooseOperations returns the operations that were asked for.
func (im *importer) chooseOperations(all []operation) ([]operation, error) {
	if len(im.o.Only) == 0 {
		return all, nil
	}
	matched := map[string]bool{}
	var chosen []operation
	for _, op := range all {
		take := false
		for _, want := range im.o.Only {
			if slices.Contains(op.tags, want) || want != "" && (want == op.name || want == op.id || want == op.methodAndPath()) {
				take, matched[want] = true, true
			}
		}
		if take {
			chosen = append(chosen, op)
		}
	}
	for _, want := range im.o.Only {
		if !matched[want] {
			return nil, fmt.Errorf("--only %s: no tag and no operation of the document has this name%s", quoteShort(want), im.nearestName(want, all))
		}
	}
	return chosen, nil
}

// nearestName hints at the tag or operation that was meant.
func (im *importer) nearestName(want string, all []operation) string {
	var names []string
	for _, op := range all {
		names = append(append(names, op.name, op.id), op.tags...)
	}
	if s := yamldoc.Suggest(want, names); s != "" {
		return fmt.Sprintf("; did you mean %s?", im.texts.cleanLine(quoteShort(s)))
	}
	return ""
}
