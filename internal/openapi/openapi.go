// Package openapi turns the operations of an OpenAPI 3.0 or 3.1 document into
// http actions of a configuration.
//
// Start with [Import], which takes the text of a document and returns a
// [Layer]: commented YAML that is ready to be one more file of a
// configuration, and [Note]s that say what was taken, what was left out and
// why, each with its place in the document.
//
// The document is not trusted. The package promises that nothing is fetched, that
// sizes, depths and cycles are bounded, that every text which a model will see
// went through package output, and that each action was read back by the
// reader of the configuration and by package action before it is printed. It
// decides nothing about who may call what: it names permissions, hosts and
// secrets, and the operator gives them.
//
// The register of promises is docs/guarantees.md: G-ACTION.
package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/output"
)

// Options choose what is imported and how it is called. nil means the zero
// value.
type Options struct {
	// Server is the absolute address under which the paths are; empty means
	// the only server of the document.
	Server string
	// Prefix begins every id; empty means none.
	Prefix string
	// Only lists tags, operation ids, ids of actions, or "METHOD /path";
	// empty means every operation.
	Only []string
	// Permissions is what each action asks for; nil means http:read for GET
	// and HEAD, and API:write for the others. API is Prefix without dashes at
	// its end, or else the host of the server: the document does not choose it,
	// since it could choose the permissions of other actions.
	Permissions []string
	// Secrets maps names of security schemes to references; a scheme that is
	// not there gets providers/API/SCHEME.
	Secrets map[string]string
	// Taken lists ids that are in use; an operation of that name is
	// numbered.
	Taken []string
}

// Layer is what came of a document.
type Layer struct {
	// YAML is the text of the configuration file.
	YAML []byte
	// IDs lists the actions, in the order of the document.
	IDs []string
	// Operations counts those of the document, chosen or not.
	Operations int
	// Notes is what was taken, left out and changed, in the order of the
	// document.
	Notes []Note
}

// Verdict says what became of something in a document.
type Verdict string

// The verdicts.
const (
	// Took is an operation that became an action.
	Took Verdict = "took"
	// LeftOut is an operation, or a part of the document, that did not.
	LeftOut Verdict = "left out"
	// Changed is a part of an action that is not as the document has it.
	Changed Verdict = "changed"
)

// Note is what became of one thing in a document.
type Note struct {
	// Place is where it stands, as file:line:column.
	Place string `json:"place"`
	// Verdict is what became of it.
	Verdict Verdict `json:"verdict"`
	// Action is the id of the action that it is about; it may be empty.
	Action string `json:"action,omitempty"`
	// Text says what and why, on one line, safe for a terminal.
	Text string `json:"text"`

	line, column int
	key          string
}

// String returns the note as one line.
func (n Note) String() string {
	s := n.Place + ": " + string(n.Verdict) + " "
	if n.Action != "" {
		s += n.Action + ": "
	}
	return s + n.Text
}

// MaxBytes bounds the text of a document.
const MaxBytes = 24 << 20

// bounds are what a document may have. The largest API that is published with
// its schemas has 13 MiB of JSON; YAML of more keys takes its parser seconds.
var bounds = yamldoc.Bounds{Bytes: MaxBytes, YAMLBytes: 4 << 20, YAMLKeys: 40_000}

// Import reads a document and makes actions of its operations. name is what
// notes and errors call the document. The error is [yamldoc.Faults] where the
// document is at fault.
func Import(name string, data []byte, o *Options) (*Layer, error) {
	if o == nil {
		o = &Options{}
	}
	doc, err := yamldoc.ReadDocument(name, data, bounds)
	if err != nil {
		return nil, err
	}
	im := &importer{
		o: o, doc: doc, texts: textCleaner{cleaner: output.Plain(), exact: map[string]bool{}, cleaned: map[limitedText]string{}},
		targets: map[string]yamldoc.Node{}, noted: map[string]bool{}, headers: map[string]bool{}, patterns: map[string]bool{},
	}
	if err := im.readHead(); err != nil {
		return nil, err
	}
	if err := im.chooseServer(); err != nil {
		return nil, err
	}
	if err := im.readSchemes(); err != nil {
		return nil, err
	}
	ops, err := im.listOperations()
	if err != nil {
		return nil, err
	}
	return im.newLayer(name, ops)
}

type importer struct {
	o     *Options
	doc   *yamldoc.Document
	texts textCleaner
	// old is true for OpenAPI 3.0, whose schemas are a dialect of their own.
	old            bool
	version, title string
	release        string
	// api names the server in secrets and permissions.
	api     string
	server  layerServer
	secured []securityScheme
	targets map[string]yamldoc.Node
	// noted holds what was said already, by place and text.
	noted map[string]bool
	notes []Note
	// remarks is what was changed in the operation that is being read.
	remarks []string
	// headers remembers which names an action may set, patterns which can be
	// compiled.
	headers, patterns map[string]bool
	// about is the id of the operation that is being read.
	about string
}

// addNote says something about a place, once to the user and once above each
// action that it is about.
func (im *importer) addNote(n yamldoc.Node, v Verdict, format string, args ...any) {
	text := im.texts.cleanLine(fmt.Sprintf(format, args...))
	if v == Changed && !slices.Contains(im.remarks, text) {
		im.remarks = append(im.remarks, text)
	}
	place := im.doc.Place(n)
	key := place + " " + text
	if v != Changed {
		key = im.about + " " + key
	}
	if im.noted[key] {
		return
	}
	im.noted[key] = true
	line, column := n.Position()
	im.notes = append(im.notes, Note{Place: place, Verdict: v, Action: im.about, Text: text, line: line, column: column, key: key})
}

// noteMark is how many notes and remarks there are.
type noteMark struct{ notes, remarks int }

// markNotes returns the position to which dropNotes can go back.
func (im *importer) markNotes() noteMark { return noteMark{len(im.notes), len(im.remarks)} }

// dropNotes removes what was said since.
func (im *importer) dropNotes(m noteMark) {
	for _, n := range im.notes[m.notes:] {
		delete(im.noted, n.key)
	}
	im.notes, im.remarks = im.notes[:m.notes], im.remarks[:m.remarks]
}

// newFault returns the error of a document that cannot be imported at all.
func (im *importer) newFault(n yamldoc.Node, format string, args ...any) error {
	return yamldoc.Faults{im.doc.Fault(n, im.texts.cleanLine(fmt.Sprintf(format, args...)))}
}

func (im *importer) readHead() error {
	root := im.doc.Root()
	if !root.IsMapping() {
		return im.newFault(root, "expected an OpenAPI document, found %s", root.Kind())
	}
	if n := root.Get("swagger"); n.Present() {
		return im.newFault(n, "a Swagger 2.0 document: expected OpenAPI 3.0 or 3.1; converters are offered for it")
	}
	n := root.Get("openapi")
	if !n.Present() {
		return im.newFault(root, "missing key openapi: expected an OpenAPI document, 3.0 or 3.1")
	}
	im.version, _ = n.Text()
	switch {
	case strings.HasPrefix(im.version, "3.0."):
		im.old = true
	case !strings.HasPrefix(im.version, "3.1."):
		return im.newFault(n, "openapi: expected a text such as 3.0.3 or 3.1.0")
	}
	info := root.Get("info")
	title, _ := info.Get("title").Text()
	release, _ := info.Get("version").Text()
	im.title, im.release = im.texts.cleanShort(title), im.texts.cleanShort(release)
	for _, key := range []string{"webhooks", "x-webhooks"} {
		if hooks := root.Get(key); len(hooks.Members()) > 0 {
			im.addNote(hooks, LeftOut, "%s: requests that the server sends, not its operations", key)
		}
	}
	return nil
}

// followRef returns what a reference leads to, and the value itself when it is
// none. Nothing outside the document is looked at.
func (im *importer) followRef(n yamldoc.Node) (yamldoc.Node, error) {
	const maxChain = 16
	for range maxChain {
		ref, ok := n.Get("$ref").Text()
		if !ok {
			return n, nil
		}
		to, known := im.targets[ref]
		if !known {
			if to = im.findTarget(ref); len(im.targets) < maxKept {
				im.targets[ref] = to
			}
		}
		if !to.Present() {
			return n, fmt.Errorf("refers to %s", im.brokenRef(ref))
		}
		n = to
	}
	return n, fmt.Errorf("refers to a reference to a reference, and so on without an end")
}

// brokenRef says why a reference leads nowhere.
func (im *importer) brokenRef(ref string) string {
	if strings.HasPrefix(ref, "#") {
		return quoteShort(ref) + ", which is not in the document"
	}
	return quoteShort(ref) + ", outside of the document: nothing is fetched"
}
