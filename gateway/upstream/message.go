package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport/sallyport/internal/rawjson"
)

// decodeMessage reads one message, which is valid JSON. It leaves a result undecoded,
// so that the waiting call decodes it once. The library decodes the rest.
func decodeMessage(text []byte) (jsonrpc.Message, error) {
	text = rawjson.Blank(text)
	if len(text) == 0 || text[0] != '{' {
		return nil, errors.New("the message is not an object")
	}
	e, err := openEnvelope(text)
	if err != nil {
		return nil, err
	}
	if id := e[memberID]; len(id) > 0 && (id[0] == '[' || id[0] == '{') {
		// The library would decode it, whatever memory that takes.
		return nil, errors.New("the id of the message is neither a text nor a number")
	}
	if e[memberMethod] != nil || bytes.HasPrefix(e[memberID], []byte{'"'}) {
		return jsonrpc.DecodeMessage(text)
	}
	if string(e[memberVersion]) != `"2.0"` {
		return nil, errors.New("the version of the message is not 2.0")
	}
	n, err := decodeID(e[memberID])
	switch {
	case err != nil:
		return nil, err
	case e[memberError] != nil:
		return jsonrpc.DecodeMessage(text)
	}
	id, err := jsonrpc.MakeID(n)
	return &jsonrpc.Response{ID: id, Result: json.RawMessage(e[memberResult])}, err
}

// The members of a message.
const (
	memberVersion = iota
	memberID
	memberMethod
	memberParams
	memberResult
	memberError
)

var members = [...]string{"jsonrpc", "id", "method", "params", "result", "error"}

// messageEnvelope holds the raw values of the members of a message; nil for absent
// ones.
type messageEnvelope [len(members)][]byte

// openEnvelope finds the members of a message, an object in valid JSON text. It refuses
// a repeated member, because another reader may use the other value.
func openEnvelope(text []byte) (e messageEnvelope, err error) {
	for rest := rawjson.Blank(text[1:]); rest[0] != '}'; {
		var key, value []byte
		if key, value, rest, err = rawjson.Next(rest); err != nil {
			return e, err
		}
		for i, name := range members {
			if string(key) != name {
				continue
			}
			if e[i] != nil {
				return e, fmt.Errorf("the message has %q twice", name)
			}
			e[i] = value
		}
	}
	return e, nil
}

// decodeID reads an id that is a whole number, even if it is written with a
// decimal point, as some languages do.
func decodeID(id []byte) (float64, error) {
	n, err := strconv.ParseFloat(string(id), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) >= 1<<53 {
		return 0, errors.New("the id of the answer is not a whole number")
	}
	return n, nil
}
