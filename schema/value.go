package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// ruleForKind notes that the rule asks for one of the given types, and
// returns the rule for a value of this type: the form that a choice selects.
func (d *jsonDecoder) ruleForKind(r *valueRule, k kindSet) *valueRule {
	if r == nil {
		return nil
	}
	form := r.selectForm(k)
	d.unsure = d.unsure || form == nil
	return form
}

// selectForm returns the rule for values of a type; nil when it is not sure that there may
// be one.
func (r *valueRule) selectForm(k kindSet) *valueRule {
	for r != nil && !r.hard && r.kinds&k != 0 {
		if r.forms == nil {
			return r
		}
		r = r.formFor(k)
	}
	return nil
}

// formFor returns the member of a choice that takes values of a type, nil when
// there is none.
func (r *valueRule) formFor(k kindSet) *valueRule {
	for _, f := range r.forms {
		if f.kinds&k != 0 {
			return f
		}
	}
	return nil
}

func (d *jsonDecoder) readValue(r *valueRule) (any, bool) {
	if d.nodes--; d.nodes < 0 {
		return nil, d.setFault("has too many values")
	}
	if d.i >= len(d.s) {
		return nil, d.syntaxError("")
	}
	switch d.s[d.i] {
	case '{':
		return d.readObject(d.ruleForKind(r, isObject))
	case '[':
		return d.readArray(d.ruleForKind(r, isArray))
	case '"':
		return d.readTextValue(d.ruleForKind(r, isString))
	case 't':
		return true, d.readLiteral("true") && d.checkBool(d.ruleForKind(r, isBool), true)
	case 'f':
		return false, d.readLiteral("false") && d.checkBool(d.ruleForKind(r, isBool), false)
	case 'n':
		if r := d.ruleForKind(r, isNull); r != nil && !r.sureNull() {
			d.unsure = true
		}
		return nil, d.readLiteral("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return d.readNumeral(r)
	default:
		return nil, d.syntaxError("unexpected character")
	}
}

func (d *jsonDecoder) readLiteral(word string) bool {
	if !strings.HasPrefix(d.s[d.i:], word) {
		return d.syntaxError("unexpected word")
	}
	d.i += len(word)
	return true
}

func (d *jsonDecoder) checkBool(r *valueRule, v bool) bool {
	if r != nil && !r.sureBool(v) {
		d.unsure = true
	}
	return true
}

func (d *jsonDecoder) readTextValue(r *valueRule) (any, bool) {
	s, ok := d.readString()
	if !ok {
		return nil, false
	}
	if r != nil && !r.sureString(s, &d.budget) {
		d.unsure = true
	}
	if !d.build {
		return nil, true
	}
	return s, true
}

func (d *jsonDecoder) readNumeral(r *valueRule) (any, bool) {
	n, whole, ok := d.readNumber()
	if !ok {
		return nil, false
	}
	k := isOther
	if whole {
		k = isInteger
	}
	if r := d.ruleForKind(r, k); r != nil && !r.sureNumber(n) {
		d.unsure = true
	}
	if !d.build {
		return nil, true
	}
	return json.Number(n), true
}

// objectState is the state of an object while it is read.
type objectState struct {
	values map[string]any // nil when nothing is built
	seen   uint64         // the declared ones
}

func (d *jsonDecoder) readObject(r *valueRule) (any, bool) {
	if d.depth--; d.depth < 0 {
		return nil, d.setFault("is nested too deeply")
	}
	var m objectState
	if d.build {
		m.values = make(map[string]any)
	}
	base := len(d.keys)
	for first := true; ; first = false {
		d.i++
		d.skipSpace()
		if first && d.i < len(d.s) && d.s[d.i] == '}' {
			break
		}
		if !d.readMember(&m, r) {
			return nil, false
		}
		if d.i < len(d.s) && d.s[d.i] == '}' {
			break
		}
		if d.i >= len(d.s) || d.s[d.i] != ',' {
			return nil, d.syntaxError("expected , or }")
		}
	}
	d.i++
	d.depth++
	keys := d.keys[base:]
	d.keys = d.keys[:base]
	if r != nil {
		if !r.object.hasSureCounts(len(keys), m.seen) {
			d.unsure = true
		}
		d.absent = d.absent || r.object.filled&^m.seen != 0
	}
	d.unsure = d.unsure || foldCollision(keys)
	if !d.build {
		return nil, true
	}
	return m.values, true
}

func (d *jsonDecoder) readMember(m *objectState, r *valueRule) bool {
	if d.i >= len(d.s) || d.s[d.i] != '"' {
		return d.syntaxError("expected a key in double quotes")
	}
	key, ok := d.readString()
	if !ok {
		return false
	}
	if _, ok := m.values[key]; ok {
		return d.setFault("repeats the key " + quoteName(key))
	}
	d.skipSpace()
	if d.i >= len(d.s) || d.s[d.i] != ':' {
		return d.syntaxError("expected : after a key")
	}
	d.i++
	d.skipSpace()
	v, ok := d.readValue(d.propertyRule(m, r, key))
	if !ok {
		d.path = append(d.path, key)
		return false
	}
	if d.build {
		m.values[key] = v
	}
	d.keys = append(d.keys, key)
	d.skipSpace()
	return true
}

func (d *jsonDecoder) propertyRule(m *objectState, r *valueRule, key string) *valueRule {
	if r == nil {
		return nil
	}
	o := &r.object
	if i := o.propertyIndex(key); i >= 0 {
		m.seen |= 1 << i
		return o.subs[i]
	}
	if o.closed || len(o.folded) > 0 && o.folded[foldCase(key)] != "" {
		d.unsure = true
		return nil
	}
	return o.rest
}

func (d *jsonDecoder) readArray(r *valueRule) (any, bool) {
	if d.depth--; d.depth < 0 {
		return nil, d.setFault("is nested too deeply")
	}
	a := []any{}
	n := 0
	var items *valueRule
	if r != nil {
		items = r.array.items
	}
	for first := true; ; first = false {
		d.i++
		d.skipSpace()
		if first && d.i < len(d.s) && d.s[d.i] == ']' {
			break
		}
		v, ok := d.readValue(items)
		if !ok {
			d.path = append(d.path, strconv.Itoa(n))
			return nil, false
		}
		if n++; d.build {
			a = append(a, v)
		}
		d.skipSpace()
		if d.i < len(d.s) && d.s[d.i] == ']' {
			break
		}
		if d.i >= len(d.s) || d.s[d.i] != ',' {
			return nil, d.syntaxError("expected , or ]")
		}
	}
	d.i++
	d.depth++
	if r != nil && (n < r.array.least || n > r.array.most || r.array.unique && n > 1) {
		d.unsure = true
	}
	return a, true
}
