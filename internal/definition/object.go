package definition

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Object reads a mapping, key by key. What is left when it is done is unknown.
type Object struct {
	d       *Decoder
	at      string
	members map[string]any
	known   []string
}

// Object returns nil, and reports it, when a value is no mapping.
func (d *Decoder) Object(at string, v any) *Object {
	members, ok := v.(map[string]any)
	if !ok {
		d.Fault(at, "expected a mapping")
		return nil
	}
	return &Object{d: d, at: at, members: members}
}

// Take returns a member by its name or its other spelling. null is a wrong
// value like any other.
func (o *Object) Take(key, alias string) (v any, at string, ok bool) {
	o.known = append(o.known, key)
	v, ok = o.members[key]
	if alias == "" {
		return v, Below(o.at, key), ok
	}
	other, twice := o.members[alias]
	o.known = append(o.known, alias)
	switch {
	case ok && twice:
		o.d.Fault(Below(o.at, alias), "is given twice: %q is the same", key)
	case twice:
		return other, Below(o.at, alias), true
	}
	return v, Below(o.at, key), ok
}

// Done reports the keys that were not read.
func (o *Object) Done() {
	for key := range o.members {
		if !slices.Contains(o.known, key) {
			o.d.Fault(Below(o.at, key), "unknown key%s", Meant(key, o.known))
		}
	}
}

// Text reads a text; a required one is there and not empty.
func (o *Object) Text(key, alias string, required bool) string {
	v, at, ok := o.Take(key, alias)
	if !ok {
		if required {
			o.d.Fault(at, "is missing: expected a text")
		}
		return ""
	}
	s, ok := v.(string)
	if !ok || required && s == "" {
		o.d.Fault(at, "expected a text")
	}
	return s
}

// Flag reads true or false.
func (o *Object) Flag(key, alias string) bool {
	v, at, ok := o.Take(key, alias)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		o.d.Fault(at, "expected true or false")
	}
	return b
}

// Count reads a whole number of 0 or more.
func (o *Object) Count(key, alias string) int {
	v, at, ok := o.Take(key, alias)
	if !ok {
		return 0
	}
	n, _ := v.(json.Number)
	i, err := strconv.ParseInt(n.String(), 10, 32)
	if err != nil || i < 0 {
		o.d.Fault(at, "expected a whole number of 0 or more")
		return 0
	}
	return int(i)
}

// Texts reads a list of texts, none of them empty.
func (o *Object) Texts(key string) []string {
	v, at, ok := o.Take(key, "")
	if !ok {
		return nil
	}
	items, ok := v.([]any)
	if !ok {
		o.d.Fault(at, "expected a list of texts")
		return nil
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok || s == "" {
			o.d.Fault(Below(at, strconv.Itoa(i)), "expected a text")
			continue
		}
		list = append(list, s)
	}
	return list
}
