package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// Bounds of structured data before it is encoded. Without them data of many
// levels exhausts the stack, and a few maps that share their children take
// for ever; neither can be recovered from.
const (
	maxNesting = 1000    // the cleaner keeps 100 levels
	maxValues  = 4 << 20 // many times what the byte limit admits
)

// stripGateFields removes from a result what only the gate may say. Approvals
// are the gate's alone, and a cost that is no amount would make the record
// unwritable.
func stripGateFields(res sallyport.Result) sallyport.Result {
	res.ApprovalID, res.ExpiresAt = "", time.Time{}
	if !(res.CostUSD >= 0) || math.IsInf(res.CostUSD, 0) {
		res.CostUSD = 0
	}
	res.CostUSD = min(res.CostUSD, costs.MaxUSD) // as it counts
	if res.OK {
		res.Error, res.Code, res.RetryAfter = "", "", 0
		return res
	}
	res.Value = ""
	switch {
	case !res.Code.Valid(), res.Code.Scoped(),
		res.Code == sallyport.CodeApprovalRequired, res.Code == sallyport.CodeApprovalDenied:
		res.Code = sallyport.CodeExecutionFailed
	}
	if res.Code != sallyport.CodeRateLimited || res.RetryAfter < 0 {
		res.RetryAfter = 0
	}
	if res.Error == "" {
		res.Error = "The tool failed without a reason"
	}
	return res
}

// toPlainJSON turns structured data, which may hold a tool's own types, into
// a copy of JSON's types, and returns the length of its text. nil stays nil.
func toPlainJSON(v map[string]any) (tree map[string]any, size int, err error) {
	if v == nil {
		return nil, 0, nil
	}
	if left := maxValues; !isWalkable(v, maxNesting, &left) {
		return nil, 0, errors.New("structured data is nested too deeply or holds too many values")
	}
	// A type of the tool's own may bring an encoder that panics.
	defer func() {
		if recover() != nil {
			tree, size, err = nil, 0, errors.New("structured data is not JSON: an encoder panicked")
		}
	}()
	if plain, size, ok := copyPlain(v); ok {
		return plain.(map[string]any), size, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, 0, fmt.Errorf("structured data is not JSON: %w", err)
	}
	err = json.Unmarshal(text, &tree)
	return tree, len(text), err
}

// copyPlain copies structured data that is made of maps, lists, texts, whole
// numbers and booleans, as encoding and decoding it would, and returns the length
// of its text. It is false for anything else.
func copyPlain(v any) (copied any, size int, ok bool) {
	const maxExact = 1 << 53
	switch v := v.(type) {
	case nil:
		return nil, len("null"), true
	case bool:
		return v, len(strconv.FormatBool(v)), true
	case string:
		size, ok := textSize(v)
		return v, size, ok
	case int:
		return float64(v), wholeSize(int64(v)), true
	case int64:
		return float64(v), wholeSize(v), true
	case float64:
		n := int64(v)
		return v, wholeSize(n), float64(n) == v && -maxExact < n && n < maxExact && (n != 0 || !math.Signbit(v))
	case []string:
		return copyPlainList(v)
	case []any:
		return copyPlainList(v)
	case map[string]any:
		return copyPlainObject(v)
	default:
		return nil, 0, false
	}
}

func copyPlainList[E any](v []E) (copied any, size int, ok bool) {
	if v == nil {
		return nil, len("null"), true
	}
	out, size := make([]any, len(v)), len("[]")+max(0, len(v)-1)
	for i, x := range v {
		n := 0
		if out[i], n, ok = copyPlain(x); !ok {
			return nil, 0, false
		}
		size += n
	}
	return out, size, true
}

func copyPlainObject(v map[string]any) (copied any, size int, ok bool) {
	if v == nil {
		return nil, len("null"), true
	}
	out, size := make(map[string]any, len(v)), len("{}")+max(0, len(v)-1)
	for k, x := range v {
		name, ok := textSize(k)
		y, n, plain := copyPlain(x)
		if !ok || !plain {
			return nil, 0, false
		}
		out[k] = y
		size += name + len(":") + n
	}
	return out, size, true
}

func wholeSize(n int64) int {
	var digits [20]byte
	return len(strconv.AppendInt(digits[:0], n, 10))
}

// textSize returns the length of a text as package json writes it. It is false for
// one that is not UTF-8, which would be changed.
func textSize(s string) (size int, ok bool) {
	size = len(s) + 2
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\' || b == '\n' || b == '\r' || b == '\t' || b == '\b' || b == '\f':
			size++
		case b < ' ' || b == '<' || b == '>' || b == '&':
			size += len(`\u0000`) - 1
		case b == 0xE2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			size += len(`\u2028`) - len("\u2028")
		}
	}
	return size, utf8.ValidString(s)
}

// isWalkable reports whether maps and lists stay within a number of levels and
// a number of values that is counted down. Other types are bounded by their
// own shape.
func isWalkable(v any, levels int, left *int) bool {
	if *left--; *left < 0 || levels < 0 {
		return false
	}
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			if !isWalkable(x, levels-1, left) {
				return false
			}
		}
	case []any:
		for _, x := range v {
			if !isWalkable(x, levels-1, left) {
				return false
			}
		}
	}
	return true
}

func cloneObject(v map[string]any) map[string]any {
	out, _ := rawjson.CloneValue(v).(map[string]any)
	return out
}
