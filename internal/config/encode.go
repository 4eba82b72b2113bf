package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxPartBytes bounds one part as JSON. The longest is a schema, and what
	// a model is shown is a hundredth of it.
	maxPartBytes = 128 << 10
	// maxKeyBytes bounds a key inside one: they are names of properties.
	maxKeyBytes = 256
)

// readPart reads a value whose keys are checked elsewhere. The word says what
// it is to messages.
func (s scope) readPart(word, key string, n *node, shown []string) (Part, bool) {
	e := partEncoder{scope: s, top: n, shown: shown, ok: true}
	e.encodeValue(key, n, 1, false)
	if e.ok && e.b.Len() > maxPartBytes {
		e.reportFault(key, n, fmt.Sprintf("the %s is larger than %d bytes", word, maxPartBytes))
	}
	return Part{JSON: bytes.Clone(e.b.Bytes()), Dir: s.file.dir, key: key, file: s.file, node: n}, e.ok
}

// partEncoder writes a part as JSON and reports what JSON cannot say, or says in
// two ways.
type partEncoder struct {
	scope
	top *node
	// shown lists the keys of the part whose values snippets may show. What
	// stands under another one, such as the headers of a handler, may be a
	// secret that somebody wrote by mistake.
	shown []string
	b     bytes.Buffer
	ok    bool
}

var errNumber = errors.New("expected a number as JSON writes it, such as 10 or 1.5")

func (e *partEncoder) encodeValue(key string, n *node, depth int, hidden bool) {
	if hidden && (n.kind == kindText || n.kind == kindNumber) {
		e.file.hideFrom(n.at.line, n.at.col-1)
	}
	switch n.kind {
	case kindText:
		e.reportFault(key, n, checkText(n.text))
		e.writeString(n.text)
	case kindNumber:
		if !json.Valid([]byte(n.text)) {
			e.reportFault(key, n, errNumber.Error())
		}
		e.b.WriteString(n.text)
	case kindBool:
		e.b.WriteString(strconv.FormatBool(n.isTrue()))
	case kindNull:
		e.b.WriteString("null")
	case kindList, kindMap:
		if depth > maxJSONDepth {
			e.reportFault(key, n, fmt.Sprintf("nested too deep: at most %d levels", maxJSONDepth))
			return
		}
		e.encodeChildren(key, n, depth, hidden)
	default:
		// What is opaque is reported already.
		e.ok = false
	}
}

func (e *partEncoder) encodeChildren(key string, n *node, depth int, hidden bool) {
	if n.kind == kindList {
		e.b.WriteByte('[')
		for i, item := range n.items {
			e.writeComma(i)
			e.encodeValue(key+"."+strconv.Itoa(i), item, depth+1, hidden)
		}
		e.b.WriteByte(']')
		return
	}
	seen := map[string]pos{}
	e.b.WriteByte('{')
	for i, f := range n.fields {
		full := joinKey(key, f.name)
		if e.reportDuplicate(seen, f, full) {
			e.ok = false
		}
		if why := checkKey(f.name); why != "" {
			e.keyFault(e.file, f.at, full, "%s: a key with %s", key, why)
			e.ok = false
			continue
		}
		e.writeComma(i)
		e.writeString(f.name)
		e.b.WriteByte(':')
		e.encodeValue(full, f.value, depth+1, hidden || n == e.top && e.maySecret(f))
	}
	e.b.WriteByte('}')
}

// checkKey is checkText for a key, which messages repeat as it stands.
func checkKey(name string) string {
	switch {
	case len(name) > maxKeyBytes:
		return fmt.Sprintf("more than %d bytes", maxKeyBytes)
	case strings.ContainsAny(name, "\n\t"):
		return "a line feed or tab"
	default:
		return checkText(name)
	}
}

// maySecret reports whether what stands under a key of a part is kept out of
// snippets. A handler that is a path is shown.
func (e *partEncoder) maySecret(f field) bool {
	return !slices.Contains(e.shown, f.name) && (f.name != "handler" || f.value.kind != kindText)
}

func (e *partEncoder) reportFault(key string, n *node, why string) {
	if why != "" {
		e.addFault(e.file, n.at, key, "%s: %s", key, why)
		e.ok = false
	}
}

func (e *partEncoder) writeComma(i int) {
	if i > 0 {
		e.b.WriteByte(',')
	}
}

func (e *partEncoder) writeString(s string) {
	enc := json.NewEncoder(&e.b)
	enc.SetEscapeHTML(false)
	// A string always encodes and a buffer always takes it.
	_ = enc.Encode(s)
	e.b.Truncate(e.b.Len() - 1) // the line feed
}
