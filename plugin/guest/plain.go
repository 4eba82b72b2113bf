package guest

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin/wire"
)

// Inside a module code takes some 25 times as long as in a program. What every call
// carries is read and written by hand where it is plain, and by encoding/json where it
// is not.

// plainReader reads JSON as the host writes it: without blanks, and texts without escapes.
// It fails on everything else.
type plainReader struct {
	rest   []byte
	failed bool
}

// skipByte reads a byte if it is the next one.
func (r *plainReader) skipByte(b byte) bool {
	if r.failed || len(r.rest) == 0 || r.rest[0] != b {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// expectByte reads a byte.
func (r *plainReader) expectByte(b byte) {
	if !r.skipByte(b) {
		r.failed = true
	}
}

// readText reads a text, whose bytes belong to what is read.
func (r *plainReader) readText() []byte {
	r.expectByte('"')
	end := bytes.IndexByte(r.rest, '"')
	if r.failed || end < 0 || bytes.IndexByte(r.rest[:end], '\\') >= 0 {
		r.failed = true
		return nil
	}
	text := r.rest[:end]
	r.rest = r.rest[end+1:]
	return text
}

// enterObject reads the beginning of an object, and reports whether it has a member.
func (r *plainReader) enterObject() bool {
	r.expectByte('{')
	return !r.failed && !r.skipByte('}')
}

// findNext reads what stands behind a member, and reports whether another one follows.
func (r *plainReader) findNext(end byte) bool {
	if r.skipByte(end) {
		return false
	}
	r.expectByte(',')
	return !r.failed
}

// readMember reads the text that is the value of a member.
func (r *plainReader) readMember() string {
	r.expectByte(':')
	return string(r.readText())
}

// readFlag reads the value of a member that is true; others are left out.
func (r *plainReader) readFlag() bool {
	for _, b := range []byte(":true") {
		r.expectByte(b)
	}
	return !r.failed
}

// readDigits reads some digits, and returns how many.
func (r *plainReader) readDigits() (n int64, digits int) {
	for digits < min(len(r.rest), 15) && r.rest[digits] >= '0' && r.rest[digits] <= '9' {
		n = n*10 + int64(r.rest[digits]-'0')
		digits++
	}
	r.rest = r.rest[digits:]
	return n, digits
}

// readCount reads the value of a member that is a count.
func (r *plainReader) readCount() int {
	r.expectByte(':')
	n, digits := r.readDigits()
	r.failed = r.failed || digits == 0
	return int(n)
}

// readSeconds reads the value of a member that is a number of seconds, to a thousandth.
func (r *plainReader) readSeconds() float64 {
	n := r.readCount()
	if !r.skipByte('.') {
		return float64(n)
	}
	part, digits := r.readDigits()
	r.failed = r.failed || digits == 0 || digits > 3 || n > 1e12
	// One division of whole numbers is rounded once, as the library does.
	return float64(n*1000+int(part)*[...]int{1, 100, 10, 1}[min(digits, 3)]) / 1000
}

// readWhole reports whether all was read, and all of it was plain.
func (r *plainReader) readWhole() bool { return !r.failed && len(r.rest) == 0 }

// decodeCall reads the head of a call.
func decodeCall(head []byte) (w wire.Call, err error) {
	r := plainReader{rest: head}
	for more := r.enterObject(); more; more = r.findNext('}') {
		switch name := r.readText(); string(name) {
		case "tool":
			w.Tool = r.readMember()
		case "id":
			w.ID = r.readMember()
		case "session":
			w.Session = r.readMember()
		case "personality":
			w.Personality = r.readMember()
		case "platform":
			w.Platform = r.readMember()
		case "workspace":
			w.Workspace = r.readMember()
		case "turn":
			w.Turn = r.readCount()
		case "result_budget":
			w.ResultBudget = r.readCount()
		case "tainted":
			w.Tainted = r.readFlag()
		case "seconds":
			w.Seconds = r.readSeconds()
		default:
			r.failed = true
		}
	}
	if r.readWhole() {
		return w, nil
	}
	w = wire.Call{}
	return w, json.Unmarshal(head, &w)
}

// decodeAnswer reads the head of an answer.
func decodeAnswer(head []byte) (a wire.Answer, err error) {
	const before, behind = `{"ok":`, `}`
	switch {
	case string(head) == "{}":
		return a, nil
	case bytes.HasPrefix(head, []byte(before)) && bytes.HasSuffix(head, []byte(behind)) && !bytes.Contains(head, []byte(`"error":`)):
		a.OK = head[len(before) : len(head)-len(behind)]
		return a, nil
	}
	return a, json.Unmarshal(head, &a)
}

// decodePlain reads what a function of an accessor returned, and reports whether it was
// plain.
func decodePlain(ok []byte, to any) bool {
	if string(ok) == "null" {
		return true
	}
	r := plainReader{rest: ok}
	switch to := to.(type) {
	case *string:
		*to = string(r.readText())
	case *[]string:
		*to = []string{}
		r.expectByte('[')
		for more := !r.failed && !r.skipByte(']'); more; more = r.findNext(']') {
			*to = append(*to, string(r.readText()))
		}
	case *wire.Entry:
		for more := r.enterObject(); more; more = r.findNext('}') {
			switch name := r.readText(); string(name) {
			case "name":
				to.Name = r.readMember()
			case "value":
				to.Value = r.readMember()
			case "found":
				to.Found = r.readFlag()
			default:
				r.failed = true
			}
		}
	default:
		return false
	}
	return r.readWhole()
}

// appendText appends a text as JSON.
func appendText(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // A text can always be written.
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}

// appendHead appends what is said to a function of an accessor, and a line feed.
func appendHead(b []byte, head any) ([]byte, error) {
	switch head := head.(type) {
	case wire.Name:
		b = append(appendText(append(b, `{"name":`...), head.Name), '}')
	case wire.File:
		b = append(appendText(append(b, `{"name":`...), head.Name), '}')
	default:
		text, err := json.Marshal(head)
		if err != nil {
			return nil, err
		}
		b = append(b, text...)
	}
	return append(b, '\n'), nil
}

// appendResult appends the result of a tool, as [sallyport.Result.MarshalJSON] writes it.
func appendResult(b []byte, res *sallyport.Result) ([]byte, error) {
	if !res.OK || len(res.Parts) > 0 || res.CostUSD != 0 {
		text, err := res.MarshalJSON()
		return append(b, text...), err
	}
	b = appendText(append(b, `{"ok":true,"value":`...), res.Value)
	if len(res.Structured) > 0 {
		var err error
		if b, err = appendValue(append(b, `,"structured":`...), res.Structured); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendValue appends structured data.
func appendValue(b []byte, v any) (_ []byte, err error) {
	switch v := v.(type) {
	case string:
		return appendText(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case map[string]any:
		return appendMembers(b, v)
	case []map[string]any:
		return appendList(b, v)
	case []any:
		return appendList(b, v)
	case []string:
		return appendList(b, v)
	}
	text, err := json.Marshal(v)
	return append(b, text...), err
}

func appendMembers(b []byte, members map[string]any) (_ []byte, err error) {
	if members == nil {
		return append(b, "null"...), nil
	}
	next := byte('{')
	for name, v := range members { // in any order: the host makes a map of it
		if b, err = appendValue(append(appendText(append(b, next), name), ':'), v); err != nil {
			return nil, err
		}
		next = ','
	}
	if next == '{' {
		b = append(b, next)
	}
	return append(b, '}'), nil
}

func appendList[T any](b []byte, list []T) (_ []byte, err error) {
	if list == nil {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}
