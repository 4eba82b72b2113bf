package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
)

// scope is where the walk is: what a row's check and set work on.
type scope struct {
	*loader
	file *file
	// name is the chosen name that is being read, empty outside of one.
	name string
	// p is the personality being read, nil outside of one; prefix is its key
	// with a final dot.
	p      *sallyport.Personality
	prefix string
}

// filePosition is a position in a file.
type filePosition struct {
	file *file
	at   pos
}

func (p filePosition) String() string { return p.file.positionText(p.at) }

// newFault makes a fault with its snippet.
func (p filePosition) newFault(key, message string) Fault {
	return p.file.faultAt(p.at, key, message)
}

// addFault reports something at a position.
func (l *loader) addFault(f *file, at pos, key, format string, args ...any) {
	l.faults.add(f.source, Fault{File: f.name, Line: at.line, Column: at.col, Key: key, Message: fmt.Sprintf(format, args...)})
}

// keyFault reports something about a key. Its value is not understood, so it
// may be a secret and is kept out of snippets.
func (l *loader) keyFault(f *file, at pos, key, format string, args ...any) {
	if l.faults.isFull() {
		// Nobody reads this one; where its value begins is not worth a search.
		f.hideFrom(at.line, 0)
		return
	}
	f.hideAfterKey(at)
	l.addFault(f, at, key, format, args...)
}

// valueFault reports something about the value of a key.
func (s scope) valueFault(r *row, at pos, key, format string, args ...any) {
	if r.hide {
		s.file.hideFrom(at.line, at.col-1)
	}
	s.addFault(s.file, at, key, format, args...)
}

// readValue checks a value against the row of its key and stores it. The
// pattern is the key in the table, key the real one.
func (s scope) readValue(r *row, key string, keyAt pos, n *node) {
	s.recordPosition(key, keyAt)
	switch {
	case n.kind == kindOpaque:
		return
	case !r.Supported:
		s.keyFault(s.file, keyAt, key, "not supported yet: %s", key)
		return
	}
	if r.hide && n.kind != kindList && n.kind != kindMap {
		s.file.hideFrom(n.at.line, n.at.col-1)
	}
	switch r.Type {
	case TypeText, TypeNumber, TypeDecimal, TypeBool:
		s.readScalar(r, key, n)
	case TypeTexts:
		s.readTexts(r, key, n)
	case TypeMapping:
		if s.expectKind(r, key, n, kindMap) {
			s.storeValue(r, value{})
			s.readMapping(r.Key, key, n)
			if r.done != nil {
				r.done(&s, key)
			}
		}
	case TypeTextOrMapping:
		s.readTextOrMapping(r, key, n)
	case TypeNames:
		if s.expectKind(r, key, n, kindMap) {
			s.readNames(r, key, n)
		}
	case TypeChoices:
		if s.expectKind(r, key, n, kindList) {
			s.storeValue(r, value{})
			s.readChoices(r, key, n)
		}
	case TypeActions:
		if s.expectKind(r, key, n, kindList) {
			s.readActions(key, n)
		}
	case TypeServer:
		if s.expectKind(r, key, n, kindMap) {
			s.readServer(key, n)
		}
	default:
		// A row of another type is a mistake of the table; what nothing
		// judges is refused.
		s.keyFault(s.file, keyAt, key, "not supported yet: %s", key)
	}
}

// recordPosition remembers where a key is.
func (s scope) recordPosition(key string, at pos) {
	here := filePosition{s.file, at}
	if _, twice := s.places[key]; !twice {
		s.places[key] = here
	}
	if rest, ok := strings.CutPrefix(key, s.prefix); ok && s.p != nil {
		s.p.Sources[rest] = here.String()
	}
}

func (s scope) storeValue(r *row, v value) {
	if r.set != nil {
		r.set(&s, v)
	}
}

// expectKind reports whether a value has the kind that a key needs.
func (s scope) expectKind(r *row, key string, n *node, want kind) bool {
	if n.kind == want {
		return true
	}
	if n.kind == kindOpaque {
		return false
	}
	s.valueFault(r, n.at, key, "%s: expected %s, found %s%s", key, want, n.kind, adviseKind(want, n, r.Example))
	return false
}

// adviseKind says how to write a value whose kind is wrong.
func adviseKind(want kind, n *node, example string) string {
	switch {
	case n.kind == kindNumber && want == kindText && hasUnit(example):
		return "; write it with its unit, such as " + example
	case n.kind == kindNull && want == kindList:
		return "; write [] for an empty list"
	case n.kind == kindNull && want == kindMap:
		return "; write {} for an empty mapping"
	case n.kind == kindText && want == kindList:
		return "; write it in brackets"
	case (n.kind == kindNumber || n.kind == kindBool) && want == kindText:
		return "; write it in quotes"
	default:
		return ""
	}
}

// hasUnit reports whether an example is a number with a unit.
func hasUnit(example string) bool {
	rest := strings.TrimLeft(example, "0123456789")
	return rest != "" && rest != example && rest == strings.Trim(rest, "0123456789-.:")
}

// readTextOrMapping reads a mapping, or the text of one of its keys in its place.
func (s scope) readTextOrMapping(r *row, key string, n *node) {
	switch n.kind {
	case kindText:
		s.recordPosition(r.short, n.at)
		s.readScalar(s.table.byKey[r.short], key, n)
	case kindMap:
		s.storeValue(r, value{})
		s.readMapping(r.Key, key, n)
	case kindOpaque:
	default:
		s.valueFault(r, n.at, key, "%s: expected a mapping or text, found %s", key, n.kind)
	}
}

func (s scope) readScalar(r *row, key string, n *node) {
	want := kindText
	switch r.Type {
	case TypeNumber, TypeDecimal:
		want = kindNumber
	case TypeBool:
		want = kindBool
	}
	if !s.expectKind(r, key, n, want) {
		return
	}
	if text, ok := s.parseText(r, key, n); ok {
		s.storeValue(r, value{text: text, flag: n.kind == kindBool && n.isTrue()})
	}
}

// parseText checks one text and returns the form in which it is stored.
func (s scope) parseText(r *row, key string, n *node) (string, bool) {
	if why := checkText(n.text); why != "" {
		s.valueFault(r, n.at, key, "%s: %s", key, why)
		return "", false
	}
	if r.words != nil && !slices.Contains(r.words, n.text) {
		s.valueFault(r, n.at, key, "%s: %s is not known%s", key, quoteShort(n.text), suggestNames(n.text, r.words, r.words))
		return "", false
	}
	if r.check == nil {
		return n.text, true
	}
	text, err := r.check(&s, n.text)
	switch {
	case err == nil:
		return text, true
	case errors.Is(err, errNotYet):
		s.valueFault(r, n.at, key, "%s", err)
	case !errors.Is(err, errReported):
		s.valueFault(r, n.at, key, "%s: %s", key, err)
	}
	return "", false
}

func (s scope) readTexts(r *row, key string, n *node) {
	if !s.expectKind(r, key, n, kindList) {
		return
	}
	if r.refersTo != "" && len(n.items) > 0 && !s.table.isSupported(r.refersTo) {
		s.addFault(s.file, n.at, key, "not supported yet: %s", key)
		return
	}
	list := make([]string, 0, len(n.items))
	for i, item := range n.items {
		at := key + "." + strconv.Itoa(i)
		s.recordPosition(at, item.at)
		if !s.expectKind(r, at, item, kindText) {
			continue
		}
		text, ok := s.parseText(r, at, item)
		if !ok {
			continue
		}
		list = append(list, text)
		if r.refersTo != "" {
			s.refs = append(s.refs, nameReference{filePosition{s.file, item.at}, at, text, r.refersTo})
		}
	}
	s.storeValue(r, value{list: list})
}

// readMapping reads the keys of a mapping against the table.
func (s scope) readMapping(pattern, key string, n *node) {
	seen := map[string]pos{}
	for _, f := range n.fields {
		full := joinKey(key, f.name)
		if s.reportDuplicate(seen, f, full) || f.value.kind == kindOpaque {
			continue
		}
		if r := s.table.childRow(pattern, f.name); r != nil {
			s.readField(r, full, f)
		} else {
			s.reportUnknown(pattern, key, f)
		}
	}
	for _, name := range s.table.below[pattern] {
		if r := s.table.byKey[joinKey(pattern, name)]; r.Required && seen[name] == (pos{}) {
			full, at := joinKey(key, name), n.at
			if p, ok := s.places[key]; ok && p.file == s.file {
				at = p.at
			}
			s.addFault(s.file, at, full, "missing key %s: expected %s: %s", full, name, r.Example)
		}
	}
}

// readField reads a key of a mapping. Another file may have it where mappings add
// up, or this one in another spelling.
func (s scope) readField(r *row, full string, f field) {
	same := full
	if r.means != "" {
		same = r.means
	}
	if first, dup := s.places[same]; dup && !r.adds {
		s.keyFault(s.file, f.at, full, "%s is already defined at %s: later files add keys and never override", full, first)
		return
	}
	s.recordPosition(same, f.at)
	s.readValue(r, full, f.at, f.value)
}

// reportDuplicate reports a key that is in its mapping already.
func (s scope) reportDuplicate(seen map[string]pos, f field, full string) bool {
	first, dup := seen[f.name]
	if !dup {
		seen[f.name] = f.at
		return false
	}
	if f.value.kind != kindOpaque {
		s.keyFault(s.file, f.at, full, "duplicate key %s: first defined at %s", quoteShort(f.name), s.file.positionText(first))
	}
	return true
}

func (s scope) reportUnknown(pattern, key string, f field) {
	names := s.table.below[pattern]
	if s.faults.isFull() {
		names = nil
	}
	help := suggestNames(f.name, names, s.table.supportedBelow(pattern))
	if right := s.table.findElsewhere(f.name); right != "" && Suggest(f.name, names) == "" && !strings.HasPrefix(pattern, layersKey) {
		help = "; it belongs at " + right
	}
	s.keyFault(s.file, f.at, joinKey(key, f.name), "unknown key %s%s", quoteShort(f.name), help)
}

// readNames reads a mapping whose keys the operator chooses.
func (s scope) readNames(r *row, key string, n *node) {
	below := s.table.byKey[r.Key+".<name>"]
	if r.some && len(n.fields) == 0 {
		s.addFault(s.file, n.at, key, "%s: expected at least one name; remove the key for the default", key)
	}
	seen := map[string]pos{}
	for _, f := range n.fields {
		full := joinKey(key, f.name)
		if s.reportDuplicate(seen, f, full) || f.value.kind == kindOpaque {
			continue
		}
		if !nameOK(f.name) {
			s.keyFault(s.file, f.at, full, "%s is not a name: expected %s", quoteShort(f.name), nameForm)
			continue
		}
		if first, dup := s.places[full]; dup {
			s.keyFault(s.file, f.at, full, "%s is already defined at %s: later files add keys and never override", full, first)
			continue
		}
		if s.loader.named[r.Key]++; s.loader.named[r.Key] > maxNames {
			s.keyFault(s.file, f.at, full, "%s: expected at most %d names in all files", key, maxNames)
			return
		}
		s.readNamed(r.Key, below, full, f)
	}
}

// maxNames bounds the names under one key: a person wrote them, and each is
// compared with others for what was probably meant.
const maxNames = 1000

// readNamed reads what stands under a chosen name.
func (s scope) readNamed(key string, below *row, full string, f field) {
	if below == nil {
		s.recordPosition(full, f.at)
		return
	}
	s.name = f.name
	if key == "personalities" {
		s.p, s.prefix = &sallyport.Personality{Name: f.name, Sources: map[string]string{}}, full+"."
		s.p.Sources[""] = filePosition{s.file, f.at}.String()
		s.cfg.Personalities[f.name] = s.p
	}
	s.readValue(below, full, f.at, f.value)
}

// readChoices reads a list of mappings with exactly one key each.
func (s scope) readChoices(r *row, key string, n *node) {
	pattern := r.Key + "[]"
	for i, item := range n.items {
		at := key + "." + strconv.Itoa(i)
		s.recordPosition(at, item.at)
		if !s.expectKind(r, at, item, kindMap) {
			continue
		}
		if len(item.fields) != 1 {
			s.valueFault(r, item.at, at, "%s: expected exactly one key, %s", at, oneOf(s.table.below[pattern]))
		}
		s.readMapping(pattern, at, item)
	}
}

func joinKey(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
