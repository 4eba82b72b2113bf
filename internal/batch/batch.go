// Package batch reads and answers calls in JSON Lines.
package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sallyport/sallyport"
)

// Bounds of a batch.
const (
	maxCalls = 10_000
	maxLine  = 9 << 20   // bytes: the gate's bound on arguments, and an envelope
	maxBytes = 256 << 20 // bytes: all lines are in memory until the calls are made
)

// Line is one line of the input and its answer.
type Line struct {
	id json.RawMessage
	// Request is the call; of a broken line what could be read of it.
	Request sallyport.Request
	// Broken is the fault of the line itself; empty for a line that is a call.
	Broken string
	// Result is the answer.
	Result *sallyport.Result
}

// ReadLines reads all lines before it makes any call. A repeated id therefore
// refuses the later line, and never a call that has already run.
func ReadLines(in io.Reader) ([]Line, error) {
	r := bufio.NewReaderSize(in, 64<<10)
	var lines []Line
	seen, total := map[string]bool{}, 0
	for {
		text, err := readLine(r, maxLine)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if total += len(text); total > maxBytes {
			return nil, fmt.Errorf("a batch has at most %d MiB", maxBytes>>20)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			if len(lines) == maxCalls {
				return nil, fmt.Errorf("a batch has at most %d calls", maxCalls)
			}
			lines = append(lines, parseLine(text, seen))
		}
		if err == io.EOF {
			return lines, nil
		}
	}
}

// readLine reads one line. It returns a little more than most bytes of a longer
// line and drops the rest.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= most {
			line = append(line, part...)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// parseLine parses one line strictly and adds its id to seen. A fault in the
// line becomes the answer to it. The gate checks the arguments.
func parseLine(text []byte, seen map[string]bool) (line Line) {
	broken := func(why string) Line {
		line.Broken = why
		return line
	}
	if len(text) > maxLine {
		return broken(fmt.Sprintf("the line is longer than %d bytes", maxLine))
	}
	keys, err := topLevel(text)
	line.id = keys["id"]
	if err != nil {
		return broken(err.Error())
	}
	var id, tool string
	if json.Unmarshal(keys["id"], &id) != nil || id == "" {
		return broken("id: expected a string that is not empty")
	}
	// Compare ids after decoding: JSON can spell one id in two ways.
	if seen[id] {
		return broken("id " + string(line.id) + " is repeated")
	}
	seen[id] = true
	if json.Unmarshal(keys["tool"], &tool) != nil || tool == "" {
		return broken("tool: expected a string that is not empty")
	}
	line.Request = sallyport.Request{ID: id, Tool: tool, Args: keys["args"]}
	return line
}

// topLevel splits an object into its members. It refuses a key that is repeated
// or unknown.
func topLevel(text []byte) (map[string]json.RawMessage, error) {
	keys := map[string]json.RawMessage{}
	if !json.Valid(text) {
		return keys, errors.New("it is not JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return keys, errors.New("expected an object")
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return keys, err
		}
		key, _ := token.(string)
		if _, repeated := keys[key]; repeated {
			return keys, fmt.Errorf("key %q is repeated", key)
		}
		if key != "id" && key != "tool" && key != "args" {
			return keys, fmt.Errorf("unknown key %q: expected id, tool and args", key)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return keys, err
		}
		keys[key] = value
	}
	return keys, nil
}

// Requests returns the requests to make and, for each, the index of its line.
func Requests(lines []Line) (requests []sallyport.Request, places []int) {
	for i := range lines {
		if lines[i].Broken == "" {
			requests, places = append(requests, lines[i].Request), append(places, i)
		}
	}
	return requests, places
}

// WriteAnswers writes one answer for each line, each of which has a result. It
// reports whether all of them are good.
func WriteAnswers(w io.Writer, lines []Line) (ok bool, err error) {
	ok = true
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i := range lines {
		l := &lines[i]
		ok = ok && l.Result.OK
		answer := struct {
			ID     json.RawMessage   `json:"id"`
			Result *sallyport.Result `json:"result"`
		}{l.id, l.Result}
		if len(answer.ID) == 0 {
			answer.ID = json.RawMessage("null")
		}
		if err := enc.Encode(answer); err != nil {
			return false, err
		}
	}
	return ok, out.Flush()
}
