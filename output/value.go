package output

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/rawjson"
)

const (
	// maxDepth bounds the nesting of structured data; JSON decoders of
	// models' clients give up earlier.
	maxDepth = 100
	// maxNodes bounds the number of values in structured data.
	maxNodes = 1 << 20
)

// tooDeep and tooMany stand for what lies beyond the bounds, opaque for what
// cannot be written as JSON and so cannot be looked at.
const (
	tooDeep = "[REMOVED:too deep]"
	tooMany = "[REMOVED:too many values]"
	opaque  = "[REMOVED:not JSON]"
)

// Value returns structured data as it may reach a model: every string in it,
// keys included, goes through [Cleaner.Text], and a number that spells a known
// secret becomes its marker. When nothing changes, v itself is returned, else
// a copy of what changed; v is never written to. Maps with string keys,
// slices and the scalars of JSON are walked as they are; any other type is
// taken by its JSON form. What lies deeper than 100 levels, beyond a million
// values, or has no JSON form is replaced by a marker.
func (c *Cleaner) Value(v any) any {
	w := valueCleaner{c: c}
	out, changed := w.cleanValue(v, 0)
	if !changed {
		return v
	}
	return out
}

// JSON returns the JSON text of what [Cleaner.Value] makes of v. The error is
// that of encoding/json.
func (c *Cleaner) JSON(v any) (Clean, error) {
	var few [512]byte // on the stack
	text, err := rawjson.AppendValue(few[:0], c.Value(v))
	return Clean(text), err
}

// valueCleaner counts what one walk has seen.
type valueCleaner struct {
	c     *Cleaner
	nodes int
}

// cleanValue cleans one value. The result counts only when it has changed.
func (w *valueCleaner) cleanValue(v any, depth int) (any, bool) {
	if w.nodes++; w.nodes > maxNodes {
		return tooMany, true
	}
	if depth > maxDepth {
		return tooDeep, true
	}
	switch v := v.(type) {
	case nil, bool:
		return nil, false
	case string:
		return w.cleanText(v)
	case json.Number:
		return w.cleanNumber(string(v))
	case float64:
		return w.cleanFloat(v, 64)
	case int:
		return w.cleanInteger(int64(v))
	case int64:
		return w.cleanInteger(v)
	case map[string]any:
		return w.cleanObject(v, depth)
	case []any:
		return w.cleanList(v, depth)
	default:
		return w.cleanTyped(v, depth)
	}
}

// cleanTyped cleans the types that tools written in Go use beside those of a
// JSON decoder.
func (w *valueCleaner) cleanTyped(v any, depth int) (any, bool) {
	switch v := v.(type) {
	case []string:
		for i, s := range v {
			if w.c.cleanText(s) != s {
				return w.cleanStrings(v, i), true
			}
		}
		return nil, false
	case map[string]string:
		for k, s := range v {
			if w.c.cleanText(k) != k || w.c.cleanText(s) != s {
				m := make(map[string]any, len(v))
				for k, s := range v {
					m[k] = s
				}
				return w.cleanObject(m, depth)
			}
		}
		return nil, false
	case []byte:
		text := base64.StdEncoding.EncodeToString(v)
		if w.c.cleanText(text) == text && w.c.cleanText(string(v)) == strings.ToValidUTF8(string(v), replacement) {
			return nil, false
		}
		return w.c.cleanText(string(v)), true
	case float32:
		return w.cleanFloat(float64(v), 32)
	case int8, int16, uint8, uint16:
		return nil, false // too few digits for a secret
	default:
		return w.cleanEncoded(v, depth)
	}
}

// cleanStrings copies a list with everything from the i-th string on cleaned.
func (w *valueCleaner) cleanStrings(v []string, i int) []string {
	out := slices.Clone(v)
	for ; i < len(out); i++ {
		out[i] = w.c.cleanText(out[i])
	}
	return out
}

// cleanEncoded cleans any other type by way of its JSON form.
func (w *valueCleaner) cleanEncoded(v any, depth int) (any, bool) {
	text, err := json.Marshal(v)
	if err != nil {
		return opaque, true
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var plain any
	if d.Decode(&plain) != nil {
		return opaque, true
	}
	return w.cleanValue(plain, depth+1)
}

// cleanObject cleans a map. Keys that become equal are told apart by a
// number, in the order of the original keys.
func (w *valueCleaner) cleanObject(v map[string]any, depth int) (any, bool) {
	var changes map[string]any
	clean := true
	for k, x := range v {
		if y, changed := w.cleanValue(x, depth+1); changed {
			if changes == nil {
				changes = make(map[string]any)
			}
			changes[k] = y
			clean = false
		}
		clean = clean && w.c.cleanText(k) == k
	}
	if clean {
		return nil, false
	}
	out := make(map[string]any, len(v))
	for _, k := range slices.Sorted(maps.Keys(v)) {
		x, changed := changes[k]
		if !changed {
			x = v[k]
		}
		name := w.c.cleanText(k)
		if name != k {
			for n := 2; isKeyTaken(out, v, name); n++ {
				name = w.c.cleanText(k) + "#" + strconv.Itoa(n)
			}
		}
		out[name] = x
	}
	return out, true
}

// isKeyTaken reports whether another entry has a new key.
func isKeyTaken(out, v map[string]any, key string) bool {
	_, written := out[key]
	_, coming := v[key]
	return written || coming
}

func (w *valueCleaner) cleanList(v []any, depth int) (any, bool) {
	var out []any
	for i, x := range v {
		y, changed := w.cleanValue(x, depth+1)
		if !changed {
			continue
		}
		if out == nil {
			out = slices.Clone(v)
		}
		out[i] = y
	}
	return out, out != nil
}

// cleanNumber cleans a number that is written as a text.
func (w *valueCleaner) cleanNumber(text string) (any, bool) {
	if !w.c.digits {
		return nil, false
	}
	return w.cleanText(text)
}

// cleanText cleans a string; one that stays is not put into an interface.
func (w *valueCleaner) cleanText(s string) (any, bool) {
	if t := w.c.cleanText(s); t != s {
		return t, true
	}
	return nil, false
}

func (w *valueCleaner) cleanInteger(n int64) (any, bool) {
	if !w.c.digits {
		return nil, false
	}
	return w.cleanNumber(strconv.FormatInt(n, 10))
}

// cleanFloat cleans a number in both forms in which it may be written.
func (w *valueCleaner) cleanFloat(f float64, size int) (any, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return opaque, true
	}
	if !w.c.digits {
		return nil, false
	}
	if s, changed := w.cleanNumber(strconv.FormatFloat(f, 'f', -1, size)); changed {
		return s, true
	}
	return w.cleanNumber(strconv.FormatFloat(f, 'g', -1, size))
}
