package guest

import (
	"encoding/json"
	"io/fs"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin/wire"
)

// host asks the functions of the host: it sends a message and returns the answer.
type host func(function string, message []byte) []byte

// askHost calls a function of an accessor. It returns the text of what the function
// returned, and the body.
func (h host) askHost(function string, head any, body []byte) (ok json.RawMessage, content []byte, err error) {
	message, err := appendHead(make([]byte, 0, 64+len(body)), head)
	if err != nil {
		return nil, nil, err
	}
	line, content := wire.Split(h(function, append(message, body...)))
	a, err := decodeAnswer(line)
	if err != nil {
		return nil, nil, err
	}
	if a.Error != nil {
		return nil, nil, errorOf(a.Error)
	}
	return a.OK, content, nil
}

// readAnswer calls a function of an accessor for what it returns.
func readAnswer[T any](h host, function string, head any, body []byte) (v T, content []byte, err error) {
	ok, content, err := h.askHost(function, head, body)
	if err == nil && ok != nil && !decodePlain(ok, &v) {
		v = *new(T)
		err = json.Unmarshal(ok, &v)
	}
	return v, content, err
}

// errorOf returns an accessor's error as it was in the host.
func errorOf(w *wire.Error) error {
	e := &sallyport.Error{Code: sallyport.Code(w.Code), Resource: w.Resource, Operation: w.Operation, Detail: w.Detail}
	if w.Missing {
		e.Err = fs.ErrNotExist
	}
	return e
}
