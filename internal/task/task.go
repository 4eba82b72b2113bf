// Package task reads the task that a client narrows a session to, the same way on
// every surface.
package task

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// MaxBytes bounds a task as JSON, in bytes.
const MaxBytes = 16 << 10

// maxTools bounds the tools that a task lists.
const maxTools = 256

// Decode reads a task strictly: {"words": TEXT, "tools": [NAME], "arguments": {TOOL:
// CEILING}}, each key at most once and no other. What the ceilings say is judged when a
// tool is called.
func Decode(raw json.RawMessage) (*sallyport.Task, error) {
	if len(raw) > MaxBytes {
		return nil, fmt.Errorf("a task has at most %d bytes", MaxBytes)
	}
	if _, err := schema.Decode(raw, &schema.Limits{Bytes: MaxBytes}); err != nil {
		return nil, err
	}
	t := new(sallyport.Task)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(t); err != nil || bytes.TrimSpace(raw)[0] != '{' {
		return nil, errors.New("expected an object with the keys words, tools and arguments")
	}
	if len(t.Tools) > maxTools {
		return nil, fmt.Errorf("tools: expected at most %d", maxTools)
	}
	return t, nil
}
