package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// readValue checks a value against the row of its key and stores it. The
// pattern is the key in the table, key the real one.
func (s scope) readValue(r *row, key string, keyAt yamldoc.Position, n *yamldoc.Value) {
	s.recordPosition(key, keyAt)
	switch {
	case n.Kind == yamldoc.KindOpaque:
		return
	case !r.Supported:
		s.keyFault(s.file, keyAt, key, "not supported yet: %s", key)
		return
	}
	if r.hide && n.Kind != yamldoc.KindList && n.Kind != yamldoc.KindMapping {
		s.file.HideFrom(n.At.Line, n.At.Column-1)
	}
	switch r.Type {
	case TypeText, TypeNumber, TypeDecimal, TypeBool:
		s.readScalar(r, key, n)
	case TypeTexts:
		s.readTexts(r, key, n)
	case TypeMapping:
		if s.expectKind(r, key, n, yamldoc.KindMapping) {
			s.storeValue(r, value{})
			s.readMapping(r.Key, key, n)
			if r.done != nil {
				r.done(&s, key)
			}
		}
	case TypeTextOrMapping:
		s.readTextOrMapping(r, key, n)
	case TypeNames:
		if s.expectKind(r, key, n, yamldoc.KindMapping) {
			s.readNames(r, key, n)
		}
	case TypeChoices:
		if s.expectKind(r, key, n, yamldoc.KindList) {
			s.storeValue(r, value{})
			s.readChoices(r, key, n)
		}
	case TypeActions:
		if s.expectKind(r, key, n, yamldoc.KindList) {
			s.readActions(key, n)
		}
	case TypeArguments:
		if s.expectKind(r, key, n, yamldoc.KindMapping) {
			s.readArguments(r, key, n)
		}
	case TypeEffects:
		if s.expectKind(r, key, n, yamldoc.KindMapping) {
			s.readEffects(r, key, n)
		}
	case TypeRunner:
		if s.expectKind(r, key, n, yamldoc.KindMapping) {
			s.readRunner(key, n)
		}
	case TypeServer:
		if s.expectKind(r, key, n, yamldoc.KindMapping) {
			s.readServer(key, n)
		}
	case TypePlugin:
		if s.expectKind(r, key, n, yamldoc.KindMapping) {
			s.readPlugin(key, n)
		}
	default:
		// A row of another type is a mistake of the table; what nothing
		// judges is refused.
		s.keyFault(s.file, keyAt, key, "not supported yet: %s", key)
	}
}

// recordPosition remembers where a key is.
func (s scope) recordPosition(key string, at yamldoc.Position) {
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
func (s scope) expectKind(r *row, key string, n *yamldoc.Value, want yamldoc.Kind) bool {
	if n.Kind == want {
		return true
	}
	if n.Kind == yamldoc.KindOpaque {
		return false
	}
	s.valueFault(r, n.At, key, "%s: expected %s, found %s%s", key, want, n.Kind, adviseKind(want, n, r.Example))
	return false
}

// adviseKind says how to write a value whose kind is wrong.
func adviseKind(want yamldoc.Kind, n *yamldoc.Value, example string) string {
	switch {
	case n.Kind == yamldoc.KindNumber && want == yamldoc.KindText && hasUnit(example):
		return "; write it with its unit, such as " + example
	case n.Kind == yamldoc.KindNull && want == yamldoc.KindList:
		return "; write [] for an empty list"
	case n.Kind == yamldoc.KindNull && want == yamldoc.KindMapping:
		return "; write {} for an empty mapping"
	case n.Kind == yamldoc.KindText && want == yamldoc.KindList:
		return "; write it in brackets"
	case (n.Kind == yamldoc.KindNumber || n.Kind == yamldoc.KindBool) && want == yamldoc.KindText:
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
func (s scope) readTextOrMapping(r *row, key string, n *yamldoc.Value) {
	switch n.Kind {
	case yamldoc.KindText:
		s.recordPosition(r.short, n.At)
		s.readScalar(s.table.byKey[r.short], key, n)
	case yamldoc.KindMapping:
		s.storeValue(r, value{})
		s.readMapping(r.Key, key, n)
	case yamldoc.KindOpaque:
	default:
		s.valueFault(r, n.At, key, "%s: expected a mapping or text, found %s", key, n.Kind)
	}
}

func (s scope) readScalar(r *row, key string, n *yamldoc.Value) {
	want := yamldoc.KindText
	switch r.Type {
	case TypeNumber, TypeDecimal:
		want = yamldoc.KindNumber
	case TypeBool:
		want = yamldoc.KindBool
	}
	if !s.expectKind(r, key, n, want) {
		return
	}
	if text, ok := s.parseText(r, key, n); ok {
		s.storeValue(r, value{text: text, flag: n.Kind == yamldoc.KindBool && n.IsTrue()})
	}
}

// parseText checks one text and returns the form in which it is stored.
func (s scope) parseText(r *row, key string, n *yamldoc.Value) (string, bool) {
	if why := yamldoc.CheckText(n.Text); why != "" {
		s.valueFault(r, n.At, key, "%s: %s", key, why)
		return "", false
	}
	if r.words != nil && !slices.Contains(r.words, n.Text) {
		s.valueFault(r, n.At, key, "%s: %s is not known%s", key, yamldoc.Quote(n.Text), yamldoc.AdviseName(n.Text, r.words, r.words))
		return "", false
	}
	if r.check == nil {
		return n.Text, true
	}
	text, err := r.check(&s, n.Text)
	switch {
	case err == nil:
		return text, true
	case errors.Is(err, errNotYet):
		s.valueFault(r, n.At, key, "%s", err)
	case !errors.Is(err, errReported):
		s.valueFault(r, n.At, key, "%s: %s", key, err)
	}
	return "", false
}

func (s scope) readTexts(r *row, key string, n *yamldoc.Value) {
	if !s.expectKind(r, key, n, yamldoc.KindList) {
		return
	}
	if r.refersTo != "" && len(n.Items) > 0 && !s.table.isSupported(r.refersTo) {
		s.addFault(s.file, n.At, key, "not supported yet: %s", key)
		return
	}
	list := make([]string, 0, len(n.Items))
	for i, item := range n.Items {
		at := key + "." + strconv.Itoa(i)
		s.recordPosition(at, item.At)
		if same := s.meaningOf(r, key); same != key {
			s.recordPosition(same+"."+strconv.Itoa(i), item.At)
		}
		if !s.expectKind(r, at, item, yamldoc.KindText) {
			continue
		}
		text, ok := s.parseText(r, at, item)
		if !ok {
			continue
		}
		list = append(list, text)
		if r.refersTo != "" {
			s.refs = append(s.refs, nameReference{filePosition{s.file, item.At}, at, text, r.refersTo})
		}
	}
	s.storeValue(r, value{list: list})
	if r.done != nil {
		r.done(&s, key)
	}
}

// readMapping reads the keys of a mapping against the table.
func (s scope) readMapping(pattern, key string, n *yamldoc.Value) {
	seen := map[string]yamldoc.Position{}
	for _, f := range n.Fields {
		full := joinKey(key, f.Name)
		if s.reportDuplicate(seen, f, full) || f.Value.Kind == yamldoc.KindOpaque {
			continue
		}
		if r := s.table.childRow(pattern, f.Name); r != nil {
			s.readField(r, full, f)
		} else {
			s.reportUnknown(pattern, key, f)
		}
	}
	for _, name := range s.table.below[pattern] {
		if r := s.table.byKey[joinKey(pattern, name)]; r.Required && seen[name] == (yamldoc.Position{}) {
			full, at := joinKey(key, name), n.At
			if p, ok := s.places[key]; ok && p.file == s.file {
				at = p.at
			}
			s.addFault(s.file, at, full, "missing key %s: expected %s: %s", full, name, r.Example)
		}
	}
}

// readField reads a key of a mapping. Another file may have it where mappings add
// up, or this one in another spelling.
func (s scope) readField(r *row, full string, f yamldoc.Field) {
	same := s.meaningOf(r, full)
	first, dup := s.places[same]
	switch {
	case !dup || r.adds:
	case s.p != nil:
		s.keyFault(s.file, f.At, full, "%s: the role has this list already, under its short or long key, at %s: write one of them", full, first)
		return
	default:
		s.keyFault(s.file, f.At, full, "%s is already defined at %s: later files add keys and never override", full, first)
		return
	}
	s.recordPosition(same, f.At)
	s.readValue(r, full, f.At, f.Value)
}

// meaningOf returns the full key that a key is another spelling of, else the key.
func (s scope) meaningOf(r *row, full string) string {
	if s.p != nil && r.means != "" {
		return strings.Replace(r.means, "<name>", s.name, 1)
	}
	return cmp.Or(r.means, full)
}

// reportDuplicate reports a key that is in its mapping already.
func (s scope) reportDuplicate(seen map[string]yamldoc.Position, f yamldoc.Field, full string) bool {
	first, dup := seen[f.Name]
	if !dup {
		seen[f.Name] = f.At
		return false
	}
	if f.Value.Kind != yamldoc.KindOpaque {
		s.keyFault(s.file, f.At, full, "duplicate key %s: first defined at %s", yamldoc.Quote(f.Name), s.file.PositionText(first))
	}
	return true
}

func (s scope) reportUnknown(pattern, key string, f yamldoc.Field) {
	names := s.table.below[pattern]
	if s.faults.IsFull() {
		names = nil
	}
	help := yamldoc.AdviseName(f.Name, names, s.table.supportedBelow(pattern))
	if right := s.table.findElsewhere(f.Name); right != "" && yamldoc.Suggest(f.Name, names) == "" && !strings.HasPrefix(pattern, layersKey) {
		help = "; it belongs at " + right
	}
	s.keyFault(s.file, f.At, joinKey(key, f.Name), "unknown key %s%s", yamldoc.Quote(f.Name), help)
}

// readNames reads a mapping whose keys the operator chooses.
func (s scope) readNames(r *row, key string, n *yamldoc.Value) {
	below := s.table.byKey[r.Key+".<name>"]
	if r.some && len(n.Fields) == 0 {
		s.addFault(s.file, n.At, key, "%s: expected at least one name; remove the key for the default", key)
	}
	seen := map[string]yamldoc.Position{}
	for _, f := range n.Fields {
		full := joinKey(key, f.Name)
		if s.reportDuplicate(seen, f, full) || f.Value.Kind == yamldoc.KindOpaque {
			continue
		}
		if err := s.checkChosen(r, f.Name); err != nil {
			s.keyFault(s.file, f.At, full, "%s", err)
			continue
		}
		if first, dup := s.places[full]; dup {
			s.keyFault(s.file, f.At, full, "%s is already defined at %s: later files add keys and never override", full, first)
			continue
		}
		if s.loader.named[r.Key]++; s.loader.named[r.Key] > maxNames {
			s.keyFault(s.file, f.At, full, "%s: expected at most %d names in all files", key, maxNames)
			return
		}
		s.readNamed(r.Key, below, full, f)
	}
}

// checkChosen judges a name that the operator chose.
func (s scope) checkChosen(r *row, name string) error {
	switch {
	case r.chosen != nil:
		return r.chosen(&s, name)
	case !nameOK(name):
		return fmt.Errorf("%s is not a name: expected %s", yamldoc.Quote(name), nameForm)
	}
	return nil
}

// maxNames bounds the names under one key: a person wrote them, and each is
// compared with others for what was probably meant.
const maxNames = 1000

// readNamed reads what stands under a chosen name.
func (s scope) readNamed(key string, below *row, full string, f yamldoc.Field) {
	if below == nil {
		s.recordPosition(full, f.At)
		return
	}
	s.name = f.Name
	if key == "personalities" {
		s.p, s.prefix = &sallyport.Personality{Name: f.Name, DeclarationsStand: s.file.version == "2", Sources: map[string]string{}}, full+"."
		s.p.Sources[""] = filePosition{s.file, f.At}.String()
		s.cfg.Personalities[f.Name] = s.p
	}
	s.readValue(below, full, f.At, f.Value)
}

// readChoices reads a list of mappings with exactly one key each.
func (s scope) readChoices(r *row, key string, n *yamldoc.Value) {
	pattern := r.Key + "[]"
	for i, item := range n.Items {
		at := key + "." + strconv.Itoa(i)
		s.recordPosition(at, item.At)
		if !s.expectKind(r, at, item, yamldoc.KindMapping) {
			continue
		}
		if len(item.Fields) != 1 {
			s.valueFault(r, item.At, at, "%s: expected exactly one key, %s", at, yamldoc.OneOf(s.table.below[pattern]))
		}
		s.readMapping(pattern, at, item)
	}
}
