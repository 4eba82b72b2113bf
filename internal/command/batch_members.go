package command

import (
	"bytes"
	"encoding/json"
	"errors"
)

// objectMember is one key of a JSON object with its value.
type objectMember struct {
	key   string
	value json.RawMessage
}

// readMembers returns the members of an object in their order. An empty text counts
// as the empty object.
func readMembers(text []byte) ([]objectMember, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if !json.Valid(text) {
		return nil, errors.New("it is not JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("expected an object")
	}
	var out []objectMember
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		out = append(out, objectMember{key, value})
	}
	return out, nil
}
