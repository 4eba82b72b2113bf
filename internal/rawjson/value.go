package rawjson

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// AppendValue appends what encoding/json makes of v. The types that a decoder
// makes are written by hand, the others by encoding/json, whose error it is.
func AppendValue(out []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(out, `null`...), nil
	case bool:
		return strconv.AppendBool(out, v), nil
	case string:
		return AppendText(out, v), nil
	case int:
		return strconv.AppendInt(out, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(out, v, 10), nil
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return AppendFloat(out, v), nil
		}
	case json.Number:
		if isNumber(string(v)) {
			return append(out, v...), nil
		}
	case []any:
		if v != nil {
			return appendArray(out, v)
		}
	case map[string]any:
		if v != nil {
			return appendObject(out, v)
		}
	}
	text, err := json.Marshal(v)
	return append(out, text...), err
}

func appendArray(out []byte, list []any) (_ []byte, err error) {
	out = append(out, '[')
	for i, v := range list {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = AppendValue(out, v); err != nil {
			return out, err
		}
	}
	return append(out, ']'), nil
}

func appendObject(out []byte, object map[string]any) (_ []byte, err error) {
	var few [16]string // on the stack
	keys := slices.AppendSeq(few[:0], maps.Keys(object))
	slices.Sort(keys)
	out = append(out, '{')
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(AppendText(out, key), ':')
		if out, err = AppendValue(out, object[key]); err != nil {
			return out, err
		}
	}
	return append(out, '}'), nil
}

// isNumber reports whether text is a number and nothing else.
func isNumber(text string) bool {
	whole := strings.TrimPrefix(text, "-")
	rest := afterDigits(whole)
	if rest == whole || whole[0] == '0' && len(whole)-len(rest) > 1 {
		return false
	}
	if fraction, ok := strings.CutPrefix(rest, "."); ok {
		if rest = afterDigits(fraction); rest == fraction {
			return false
		}
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	exponent := rest[1:]
	if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
		exponent = exponent[1:]
	}
	return exponent != "" && afterDigits(exponent) == ""
}

// afterDigits returns text behind the digits that it begins with.
func afterDigits(text string) string { return strings.TrimLeft(text, "0123456789") }

// CloneValue returns a copy of a decoded value that shares nothing with it that can be
// changed.
func CloneValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		object := maps.Clone(v)
		for key, item := range object {
			object[key] = CloneValue(item)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = CloneValue(item)
		}
		return list
	default:
		return v
	}
}
