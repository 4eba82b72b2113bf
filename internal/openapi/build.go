package openapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// builtAction is an action with what is said about it.
type builtAction struct {
	op   operation
	text orderedObject
	// remarks stand above it.
	remarks []string
}

// answerNodes are the sizes that schemas of answers may have, tried one after
// the other until the layer is within the bounds of a configuration.
var answerNodes = []int{120, 40, 12, 0}

// The bounds of one file of a configuration, a little below those of its
// reader, which judges in the end.
const (
	maxLayerBytes   = 1_000_000
	maxLayerKeys    = 19_900
	maxLayerActions = 1000
)

// newLayer builds the actions and prints them.
func (im *importer) newLayer(name string, ops []operation) (*Layer, error) {
	if len(ops) > maxLayerActions {
		return nil, tooMany(len(ops), fmt.Errorf("a configuration has at most %d actions", maxLayerActions))
	}
	before := im.markNotes()
	var actions []builtAction
	for i, most := range answerNodes {
		im.dropNotes(before)
		actions = im.buildActions(ops, most)
		if im.fitsBounds(actions) {
			if i > 0 {
				im.addNote(im.doc.Root().Get("paths"), Changed, "the schemas of answers are cut so that the file stays within the bounds of a configuration")
			}
			break
		}
	}
	if !im.fitsBounds(actions) {
		return nil, tooMany(len(ops), fmt.Errorf("the file would have more than %d bytes or %d keys", maxLayerBytes, maxLayerKeys))
	}
	if actions = im.verifyActions(actions); len(actions) == 0 {
		return nil, im.emptyError()
	}
	text := im.printLayer(name, actions)
	if _, err := config.Parse("the layer", text, &config.Options{Dir: "/"}); err != nil {
		return nil, tooMany(len(ops), firstFault(err))
	}
	return im.finishLayer(text, actions), nil
}

func tooMany(n int, why error) error {
	return fmt.Errorf("%d operations do not fit into one file: choose some with --only: %w", n, why)
}

// fitsBounds reports whether actions are within the bounds of one file.
func (im *importer) fitsBounds(actions []builtAction) bool {
	p, n := layerPrinter{}, 0
	for i := range actions {
		p.writeAction(&actions[i])
		n += countKeys(actions[i].text)
	}
	return p.b.Len() <= maxLayerBytes && n <= maxLayerKeys
}

func firstFault(err error) error {
	if faults, ok := errors.AsType[yamldoc.Faults](err); ok {
		return errors.New(faults[0].Message)
	}
	return err
}

// emptyError returns the error of a document of which nothing could be
// imported.
func (im *importer) emptyError() error {
	text := "no operation could be taken"
	for _, n := range im.notes {
		if n.Verdict == LeftOut && n.Action != "" {
			text += "\n  " + n.String()
		}
	}
	return errors.New(text)
}

func (im *importer) finishLayer(text []byte, actions []builtAction) *Layer {
	l := &Layer{YAML: text, Operations: im.countOperations()}
	for i := range actions {
		l.IDs = append(l.IDs, actions[i].op.id)
	}
	slices.SortStableFunc(im.notes, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	l.Notes = im.notes
	return l
}

// countOperations returns the number of operations of the document.
func (im *importer) countOperations() (n int) {
	for _, m := range im.doc.Root().Get("paths").Members() {
		item, err := im.followRef(m.Node)
		if err != nil {
			continue
		}
		for _, op := range item.Members() {
			if methods[op.Name] != "" {
				n++
			}
		}
	}
	return n
}

// buildActions returns an action of each operation that can be one.
func (im *importer) buildActions(ops []operation, answers int) []builtAction {
	var out []builtAction
	for _, op := range ops {
		im.about, im.remarks = op.id, nil
		m, err := im.buildAction(&op, answers)
		if u, ok := errors.AsType[*unfitError](err); ok {
			im.addNote(u.at, LeftOut, "%s: %s", op.methodAndPath(), u.text)
			continue
		}
		m.remarks = im.remarks
		out = append(out, m)
	}
	im.about, im.remarks = "", nil
	return out
}

// verifyActions returns the actions that their readers accept.
func (im *importer) verifyActions(actions []builtAction) []builtAction {
	var out []builtAction
	for _, m := range actions {
		im.about, im.remarks = m.op.id, m.remarks
		err := im.verifyAction(&m, m.op.Node)
		if u, ok := errors.AsType[*unfitError](err); ok {
			im.addNote(u.at, LeftOut, "%s: %s", m.op.methodAndPath(), u.text)
			continue
		}
		im.addNote(m.op.Node, Took, "%s", m.op.methodAndPath())
		m.remarks = im.remarks
		out = append(out, m)
	}
	im.about, im.remarks = "", nil
	return out
}

func (im *importer) buildAction(op *operation, answers int) (m builtAction, err error) {
	m.op = *op
	if at, differs := im.otherServers(op.Node, op.holder); differs {
		return m, newUnfit(at, "it has a server of its own, and a layer has one: import it with --server and --only")
	}
	auth, at, err := im.authOf(op.Node)
	if err != nil {
		return m, newUnfit(at, "%v", err)
	}
	if auth.missing != "" {
		im.addNote(at, Changed, "it asks for %s, which is not supported: no credentials are sent", auth.missing)
	}
	if n := op.Get("callbacks"); n.Present() {
		im.addNote(n, Changed, "callbacks are left out: requests that the server sends")
	}
	args, err := im.readParameters(op, &auth)
	if err != nil {
		return m, err
	}
	body, err := im.bodyOf(op)
	if err != nil {
		return m, err
	}
	args = append(args, body.args...)
	nameArguments(args)
	handler, err := im.newHandler(op, args, &body, &auth)
	if err != nil {
		return m, err
	}
	returns, accept := im.answerSchema(op, answers)
	if accept != "" && accept != "application/json" {
		addHeader(&handler, "Accept", accept)
	}
	m.text = im.newDefinition(op, args, &auth, returns, handler)
	return m, nil
}

func (im *importer) newDefinition(op *operation, args []argument, a *operationAuth, returns, handler orderedObject) orderedObject {
	d := orderedObject{{"id", op.id}}
	if text := im.describeOperation(op.Node); text != "" {
		d.addMember("description", text)
	}
	if len(args) > 0 {
		d.addMember("parameters", argumentSchema(args))
	}
	if returns != nil {
		d.addMember("returns", returns)
	}
	d.addMember("permissions", im.requiredPermissions(op))
	capabilities := orderedObject{{"network", orderedObject{{"allowedHosts", []any{im.server.host}}}}}
	if refs := a.secretRefs(); len(refs) > 0 {
		capabilities.addMember("secrets", refs)
	}
	d.addMember("capabilities", capabilities)
	if op.method == http.MethodPut || op.method == http.MethodDelete {
		d.addMember("idempotent", true)
	}
	d.addMember("handler", orderedObject{{"http", handler}})
	return d
}

// describeOperation returns what a model reads: the summary and what follows
// it.
func (im *importer) describeOperation(n yamldoc.Node) string {
	summary, _ := n.Get("summary").Text()
	about, _ := n.Get("description").Text()
	summary, about = im.texts.cleanText(summary, maxArgument), im.texts.cleanText(about, maxDescription)
	switch {
	case about == "" || summary == about:
		return summary
	case summary == "" || strings.HasPrefix(about, summary):
		return about
	}
	if !strings.HasSuffix(summary, ".") {
		summary += "."
	}
	return im.texts.cleanText(summary+" "+about, maxDescription)
}

func (im *importer) requiredPermissions(op *operation) (list []any) {
	for _, p := range im.o.Permissions {
		list = append(list, p)
	}
	switch {
	case im.o.Permissions != nil:
		return list
	case op.method == http.MethodGet || op.method == http.MethodHead:
		return []any{"http:read"}
	default:
		return []any{im.api + ":write"}
	}
}

func (a *operationAuth) secretRefs() (list []any) {
	for _, s := range a.schemes {
		if !slices.Contains(list, any(s.ref)) {
			list = append(list, s.ref)
		}
	}
	return list
}

func argumentSchema(args []argument) orderedObject {
	properties, required := orderedObject{}, []any{}
	for i := range args {
		properties.addMember(args[i].name, args[i].schema)
		if args[i].required {
			required = append(required, args[i].name)
		}
	}
	v := orderedObject{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		v.addMember("required", required)
	}
	return v
}

// verifyAction reads an action back with the readers that will read it. One whose
// answer alone is at fault loses the schema of it.
func (im *importer) verifyAction(m *builtAction, at yamldoc.Node) error {
	err := decodeBack(m.text)
	if faults, ok := errors.AsType[action.Faults](err); ok && !slices.ContainsFunc(faults, func(f action.Fault) bool { return !strings.HasPrefix(f.Pointer, "/returns") }) {
		im.addNote(at, Changed, "the schema of the answer is left out: %s", faults[0].Message)
		m.text.removeMember("returns")
		err = decodeBack(m.text)
	}
	if err != nil {
		return newUnfit(at, "it makes no action: %v", firstFault(err))
	}
	return nil
}

func decodeBack(text orderedObject) error {
	p := layerPrinter{}
	p.writeAction(&builtAction{text: text})
	c, err := config.Parse("the action", []byte("version: 2\nactions:\n"+p.b.String()), &config.Options{Dir: "/"})
	if err != nil {
		return err
	}
	d, err := action.Decode(c.Actions[0].JSON, &action.DecodeOptions{Dir: "/"})
	if err != nil {
		return err
	}
	// What is read is what was meant.
	var have, want any
	if json.Unmarshal(c.Actions[0].JSON, &have) != nil || json.Unmarshal([]byte(jsonInline(text)), &want) != nil || !reflect.DeepEqual(have, want) || d.ID != text.textOf("id") {
		return errors.New("its text cannot be written down")
	}
	return nil
}
