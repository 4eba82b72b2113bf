package suggest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

const (
	// often is in how many calls an argument has to be seen before it is bounded.
	often = 3
	// fewValues is how many different values become a list, each seen twice on the
	// average, or one alone.
	fewValues = 16
)

// shaper makes ceilings of what was seen.
type shaper struct {
	tool   *Tool
	kindOf func(set string) sallyport.ValueKind
	say    func(pointer, why string)
}

// shapeValue returns what is said of one value, nil for nothing. The path leaves out the
// places in lists, as destinations do.
func (s *shaper) shapeValue(p *argPlace, pointer, path string) *yamldoc.Value {
	if p.seen < often {
		s.say(pointer, "it was seen "+text.CountOf(p.seen, "time")+" alone")
		return nil
	}
	switch p.kinds &^ kindNull {
	case kindObject:
		if fields := s.shapeProperties(p, pointer, path); len(fields) > 0 {
			return newMapping("properties", &yamldoc.Value{Kind: yamldoc.KindMapping, Fields: fields})
		}
	case kindList:
		if p.items == nil {
			break
		}
		if items := s.shapeValue(p.items, pointer+"/*", path); items != nil {
			return newMapping("items", items)
		}
	case kindNumber:
		return s.shapeNumber(p, pointer)
	case kindText, kindBool, kindText | kindBool:
		return s.shapePlain(p, pointer, path)
	case 0:
		s.say(pointer, "it was null each time")
	default:
		s.say(pointer, "its values are of several kinds")
	}
	return nil
}

// shapeProperties returns what is said of the parts of an object.
func (s *shaper) shapeProperties(p *argPlace, pointer, path string) (fields []yamldoc.Field) {
	for _, name := range slices.Sorted(maps.Keys(p.props)) {
		below := name
		if path != "" {
			below = path + "." + name
		}
		if v := s.shapeValue(p.props[name], pointer+"/"+name, below); v != nil {
			fields = append(fields, yamldoc.Field{Name: name, Value: v})
		}
	}
	return fields
}

// shapeNumber bounds a number by what was seen before anything untrusted was read.
func (s *shaper) shapeNumber(p *argPlace, pointer string) *yamldoc.Value {
	switch {
	case p.inexact:
		s.say(pointer, "a value has more than 40 digits")
		return nil
	case p.ownLow == nil || p.low.value.Cmp(p.ownLow.value) != 0 || p.high.value.Cmp(p.ownHigh.value) != 0:
		s.say(pointer, "its lowest or highest value was seen only after untrusted content was read")
		return nil
	}
	return newMapping("minimum", newNumber(p.low.text), "maximum", newNumber(p.high.text))
}

// shapePlain bounds texts and truth values by a set, or by a list of those that were seen.
func (s *shaper) shapePlain(p *argPlace, pointer, path string) *yamldoc.Value {
	if set := s.chooseSet(p, path); set != "" {
		return newMapping("known", newText(set))
	}
	if why := s.refuseList(p); why != "" {
		s.say(pointer, why)
		return nil
	}
	list := &yamldoc.Value{Kind: yamldoc.KindList}
	for _, v := range sortValues(p.values) {
		if is, ok := v.(bool); ok {
			list.Items = append(list.Items, &yamldoc.Value{Kind: yamldoc.KindBool, Text: strconv.FormatBool(is)})
			continue
		}
		list.Items = append(list.Items, newText(v.(string)))
	}
	if p.kinds&kindNull != 0 {
		list.Items = append(list.Items, &yamldoc.Value{})
	}
	return newMapping("enum", list)
}

// chooseSet returns the set that holds every value, of the kind that the argument names;
// the first by its name where there are several.
func (s *shaper) chooseSet(p *argPlace, path string) string {
	if p.kinds&kindBool != 0 || p.long || s.kindOf == nil {
		return ""
	}
	kind := s.tool.Destinations[path]
	for _, name := range slices.Sorted(maps.Keys(p.sets)) {
		if kind == "" || s.kindOf(name) == kind {
			return name
		}
	}
	return ""
}

// refuseList returns why the values do not become a list; empty when they do.
func (s *shaper) refuseList(p *argPlace) string {
	switch total := countOf(p.values); {
	case p.many:
		return fmt.Sprintf("it has more than %d different values", maxValues)
	case p.long:
		return fmt.Sprintf("a value has more than %d bytes", maxValue)
	case p.reached:
		return "the lists of hosts and paths bound it"
	case len(p.values) > fewValues, len(p.values) > 1 && total < 2*len(p.values):
		return fmt.Sprintf("%d different values in %s are no short list", len(p.values), text.CountOf(total, "call"))
	}
	for _, v := range sortValues(p.values) {
		said, ok := v.(string)
		if ok && (yamldoc.CheckText(said) != "" || said != text.PrintableLine(said) || strings.ContainsFunc(said, isUnseen)) {
			return "a value has characters that no list of a role shows: " + text.Clip(strconv.QuoteToASCII(said), shownValue)
		}
		if !p.values[v].own {
			return "the value " + text.Clip(strconv.QuoteToASCII(fmt.Sprint(v)), shownValue) + " was seen only after untrusted content was read"
		}
	}
	return ""
}

// isUnseen reports whether a reader does not see a character, so that two values look the
// same.
func isUnseen(r rune) bool { return !unicode.IsPrint(r) }

// shownValue bounds a value in a remark, in characters.
const shownValue = 80

func countOf(values map[any]*seenValue) (n int) {
	for _, v := range values {
		n += v.count
	}
	return n
}

// sortValues returns truth values before texts.
func sortValues(values map[any]*seenValue) []any {
	return slices.SortedFunc(maps.Keys(values), func(a, b any) int {
		_, first := a.(bool)
		_, second := b.(bool)
		if first != second {
			return cmp.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b))
		}
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
}
