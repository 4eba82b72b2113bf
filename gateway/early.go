package gateway

import (
	"crypto/rand"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// earlyMeta is the _meta key under which the library's handler finds the result
// of a call that was made directly. Its value is a random word that cannot be
// guessed and is valid once.
const earlyMeta = "sallyport/early"

// precomputedResults holds the results of direct calls that are held. The library asks the
// question about such a call, and the call is not made a second time for it.
type precomputedResults struct {
	mu   sync.Mutex
	kept map[string]sallyport.Result
}

// storeResult stores a result and returns the word for it.
func (e *precomputedResults) storeResult(res sallyport.Result) string {
	word := rand.Text()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kept == nil {
		e.kept = map[string]sallyport.Result{}
	}
	e.kept[word] = res
	return word
}

// popResult returns the result for a word and deletes it.
func (e *precomputedResults) popResult(word string) (res sallyport.Result, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	res, ok = e.kept[word]
	delete(e.kept, word)
	return res, ok
}

// resultOfRequest returns the stored result that a request refers to.
func (e *precomputedResults) resultOfRequest(req mcp.Request) (res sallyport.Result, ok bool) {
	word, ok := req.GetParams().GetMeta()[earlyMeta].(string)
	if !ok {
		return res, false
	}
	return e.popResult(word)
}

// parametersWith returns the parameters of a call with a word for its result
// added.
func (e *messageEnvelope) parametersWith(word string) []byte {
	out := append(make([]byte, 0, len(e.params)+len(word)+64), '{')
	for i := range e.in {
		if m := &e.in[i]; string(m.key) != "_meta" {
			out = append(append(rawjson.AppendText(out, string(m.key)), ':'), m.value...)
			out = append(out, ',')
		}
	}
	out = append(out, `"_meta":{`...)
	for i := range e.meta {
		m := &e.meta[i]
		out = append(append(rawjson.AppendText(out, string(m.key)), ':'), m.value...)
		out = append(out, ',')
	}
	out = append(append(out, '"'), earlyMeta...)
	return append(rawjson.AppendText(append(out, `":`...), word), `}}`...)
}

// withResultWord returns the whole message with a word for its result added.
func (e *messageEnvelope) withResultWord(word string) []byte {
	out := append(appendHead(nil, e.id), `,"method":"tools/call","params":`...)
	return append(append(out, e.parametersWith(word)...), '}')
}
