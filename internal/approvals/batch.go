package approvals

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/digest"
)

// MaxBatch bounds the calls that one question is about: a person reads no longer list
// before one answer.
const MaxBatch = 20

// QuestionKey identifies what a question about a held call asks, but for the values of its
// arguments: calls with one key are of one session, principal, role, tool and grant, are
// held for the same reason, and have arguments of the same names. A call of which no shape
// is known shares its key with no other.
func QuestionKey(a *sallyport.Approval) string {
	if a.Shape == nil {
		return a.ID
	}
	words := []string{a.Tool, a.Principal, a.Personality, a.Session, a.Shape.Asked, a.Shape.Touches}
	words = append(words, a.Targets...)
	words = append(words, "")
	words = append(words, slices.Sorted(maps.Keys(a.Shape.Args))...)
	// Texts can be encoded; as JSON no two lists run together.
	text, _ := json.Marshal(words)
	return digest.Text(text)
}

// JoinBatches puts pending calls together that one question is about, the oldest first; a
// call in any other state stands alone. No batch has more than [MaxBatch] calls.
func JoinBatches(list []sallyport.Approval) (batches [][]sallyport.Approval) {
	open := map[string]int{} // batches that are not full, by their keys
	for i := range list {
		a := list[i]
		if a.State != sallyport.ApprovalPending {
			batches = append(batches, []sallyport.Approval{a})
			continue
		}
		key := QuestionKey(&a)
		at, ok := open[key]
		if !ok || len(batches[at]) >= MaxBatch {
			open[key] = len(batches)
			batches = append(batches, []sallyport.Approval{a})
			continue
		}
		batches[at] = append(batches[at], a)
	}
	return batches
}

// SplitArguments returns the arguments that all calls of a batch have in common, and those
// in which each differs, as JSON. Where the arguments of a call are not shown whole,
// nothing is in common.
func SplitArguments(batch []sallyport.Approval) (same string, own []string) {
	args, own := make([]map[string]json.RawMessage, len(batch)), make([]string, len(batch))
	whole := true
	for i := range batch {
		own[i] = batch[i].Args
		whole = whole && json.Unmarshal([]byte(batch[i].Args), &args[i]) == nil && args[i] != nil
	}
	if !whole || len(batch) < 2 {
		return "", own
	}
	common := maps.Clone(args[0])
	maps.DeleteFunc(common, func(name string, v json.RawMessage) bool {
		return slices.ContainsFunc(args[1:], func(other map[string]json.RawMessage) bool { return string(other[name]) != string(v) })
	})
	for i := range args {
		maps.DeleteFunc(args[i], func(name string, _ json.RawMessage) bool { _, ok := common[name]; return ok })
		own[i] = encodeArguments(args[i])
	}
	if len(common) == 0 {
		return "", own
	}
	return encodeArguments(common), own
}

// encodeArguments writes arguments as people are shown them.
func encodeArguments(args map[string]json.RawMessage) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// What was decoded from JSON can be encoded.
	_ = enc.Encode(args)
	return strings.TrimSpace(b.String())
}
