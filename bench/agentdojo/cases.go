package main

import (
	"encoding/json"
	"sync"
)

// caseWriter collects the cases that a figure may miss its aim by, with what the gate
// says about them. Nil collects nothing.
type caseWriter struct {
	path  string
	mu    sync.Mutex
	lines []string
}

// compactJSON returns JSON on one line.
func compactJSON(text []byte) string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return quoteText(string(text))
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

