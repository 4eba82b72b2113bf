package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
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
func (s scope) readPart(word, key string, n *yamldoc.Value, shown []string) (Part, bool) {
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
	top *yamldoc.Value
	// shown lists the keys of the part whose values snippets may show. What
	// stands under another one, such as the headers of a handler, may be a
	// secret that was written by mistake.
	shown []string
	b     bytes.Buffer
	ok    bool
}

var errNumber = errors.New("expected a number as JSON writes it, such as 10 or 1.5")

func (e *partEncoder) encodeValue(key string, n *yamldoc.Value, depth int, hidden bool) {
	if hidden && (n.Kind == yamldoc.KindText || n.Kind == yamldoc.KindNumber) {
		e.file.HideFrom(n.At.Line, n.At.Column-1)
	}
	switch n.Kind {
	case yamldoc.KindText:
		e.reportFault(key, n, yamldoc.CheckText(n.Text))
		e.writeString(n.Text)
	case yamldoc.KindNumber:
		if !json.Valid([]byte(n.Text)) {
			e.reportFault(key, n, errNumber.Error())
		}
		e.b.WriteString(n.Text)
	case yamldoc.KindBool:
		e.b.WriteString(strconv.FormatBool(n.IsTrue()))
	case yamldoc.KindNull:
		e.b.WriteString("null")
	case yamldoc.KindList, yamldoc.KindMapping:
		if depth > yamldoc.MaxDepth {
			e.reportFault(key, n, fmt.Sprintf("nested too deep: at most %d levels", yamldoc.MaxDepth))
			return
		}
		e.encodeChildren(key, n, depth, hidden)
	default:
		// What is opaque is reported already.
		e.ok = false
	}
}

func (e *partEncoder) encodeChildren(key string, n *yamldoc.Value, depth int, hidden bool) {
	if n.Kind == yamldoc.KindList {
		e.b.WriteByte('[')
		for i, item := range n.Items {
			e.writeComma(i)
			e.encodeValue(key+"."+strconv.Itoa(i), item, depth+1, hidden)
		}
		e.b.WriteByte(']')
		return
	}
	seen := map[string]yamldoc.Position{}
	e.b.WriteByte('{')
	for i, f := range n.Fields {
		full := joinKey(key, f.Name)
		if e.reportDuplicate(seen, f, full) {
			e.ok = false
		}
		if why := checkKey(f.Name); why != "" {
			e.keyFault(e.file, f.At, full, "%s: a key with %s", key, why)
			e.ok = false
			continue
		}
		e.writeComma(i)
		e.writeString(f.Name)
		e.b.WriteByte(':')
		e.encodeValue(full, f.Value, depth+1, hidden || n == e.top && e.maySecret(f))
	}
	e.b.WriteByte('}')
}

// checkKey is CheckText for a key, which messages repeat as it stands.
func checkKey(name string) string {
	switch {
	case len(name) > maxKeyBytes:
		return fmt.Sprintf("more than %d bytes", maxKeyBytes)
	case strings.ContainsAny(name, "\n\t"):
		return "a line feed or tab"
	default:
		return yamldoc.CheckText(name)
	}
}

// maySecret reports whether what stands under a key of a part is kept out of
// snippets. A handler that is a path is shown.
func (e *partEncoder) maySecret(f yamldoc.Field) bool {
	return !slices.Contains(e.shown, f.Name) && (f.Name != "handler" || f.Value.Kind != yamldoc.KindText)
}

func (e *partEncoder) reportFault(key string, n *yamldoc.Value, why string) {
	if why != "" {
		e.addFault(e.file, n.At, key, "%s: %s", key, why)
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
