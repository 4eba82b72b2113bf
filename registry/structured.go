package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sallyport/sallyport"
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
	text, err := json.Marshal(v)
	if err != nil {
		return nil, 0, fmt.Errorf("structured data is not JSON: %w", err)
	}
	err = json.Unmarshal(text, &tree)
	return tree, len(text), err
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

func cloneJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = cloneJSON(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = cloneJSON(x)
		}
		return out
	default:
		return v
	}
}

func cloneObject(v map[string]any) map[string]any {
	out, _ := cloneJSON(v).(map[string]any)
	return out
}
