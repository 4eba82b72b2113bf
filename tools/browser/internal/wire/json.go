package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/rawjson"
)

// maxDepth bounds how deep what becomes JSON may be nested. Chromium refuses more when it
// writes JSON itself.
const maxDepth = 300

// ErrTooLong means that what the browser said is longer than its bound.
var ErrTooLong = errors.New("the answer of the browser is too long")

// JSON returns the JSON text of an item, which is ASCII. [ErrTooLong] means that it has
// more bytes than it may have.
func (v Value) JSON(most int) ([]byte, error) {
	if _, rest, err := cutItem(v); err != nil || len(rest) > 0 {
		return nil, errForm
	}
	w := jsonWriter{most: most}
	if err := w.writeItem(v, 0); err != nil {
		return nil, err
	}
	return w.out, w.checkRoom()
}

// jsonWriter writes items as JSON. An item may become six times as long.
type jsonWriter struct {
	out  []byte
	most int
}

func (w *jsonWriter) checkRoom() error {
	if len(w.out) > w.most {
		return ErrTooLong
	}
	return nil
}

func (w *jsonWriter) writeItem(v Value, depth int) error {
	if err := w.checkRoom(); err != nil {
		return err
	}
	if depth > maxDepth {
		return errForm
	}
	switch v[0] {
	case isFalse:
		w.out = append(w.out, `false`...)
	case isTrue:
		w.out = append(w.out, `true`...)
	case isNull:
		w.out = append(w.out, `null`...)
	case double:
		w.writeDouble(math.Float64frombits(binary.BigEndian.Uint64(v[1:])))
	case bytesTag:
		_, _, head := readHead(v[1:])
		w.out = append(base64.StdEncoding.AppendEncode(append(w.out, '"'), v[1+head:]), '"')
	case envelope[0]:
		if v[HeadBytes] == listStart {
			return w.writeList(v, depth)
		}
		return w.writeObject(v, depth)
	default:
		n, ok := v.Number()
		if !ok {
			return w.writeText(v)
		}
		w.out = strconv.AppendInt(w.out, n, 10)
	}
	return nil
}

func (w *jsonWriter) writeObject(v Value, depth int) error {
	before := byte('{')
	for m, err := range v.Members() {
		if err != nil {
			return err
		}
		w.out = append(w.out, before)
		if err := w.writeText(m.Key); err != nil {
			return err
		}
		w.out = append(w.out, ':')
		if err := w.writeItem(m.Value, depth+1); err != nil {
			return err
		}
		before = ','
	}
	w.endItem(before, "{}")
	return nil
}

func (w *jsonWriter) writeList(v Value, depth int) error {
	before := byte('[')
	for item, err := range v.Items() {
		if err != nil {
			return err
		}
		w.out = append(w.out, before)
		if err := w.writeItem(item, depth+1); err != nil {
			return err
		}
		before = ','
	}
	w.endItem(before, "[]")
	return nil
}

// endItem closes an object or a list, in which something stands before a comma.
func (w *jsonWriter) endItem(before byte, brackets string) {
	if before == ',' {
		brackets = brackets[1:]
	}
	w.out = append(w.out, brackets...)
}

// writeDouble writes what is no number in JSON as JavaScript does.
func (w *jsonWriter) writeDouble(f float64) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		w.out = append(w.out, `null`...)
	case f == 0:
		w.out = append(w.out, '0') // also of -0
	default:
		w.out = rawjson.AppendFloat(w.out, f)
	}
}

func (w *jsonWriter) writeText(v Value) error {
	if !v.isText() {
		return errForm
	}
	kind, _, head := readHead(v)
	w.out = append(w.out, '"')
	err := error(nil)
	if kind == kindBytes {
		err = w.writeUnits(unitsOf(v[head:]))
	} else {
		err = w.writeUTF8(v[head:])
	}
	w.out = append(w.out, '"')
	return err
}

func (w *jsonWriter) writeUTF8(text []byte) error {
	var pair [2]uint16
	for len(text) > 0 {
		plain := 0
		for plain < len(text) && isPlain(uint16(text[plain])) {
			plain++
		}
		w.out, text = append(w.out, text[:plain]...), text[plain:]
		if len(text) > 0 {
			r, size := utf8.DecodeRune(text)
			text = text[size:]
			if err := w.writeUnits(utf16.AppendRune(pair[:0], r)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *jsonWriter) writeUnits(units []uint16) error {
	for _, unit := range units {
		w.out = appendUnit(w.out, unit)
		if err := w.checkRoom(); err != nil {
			return err
		}
	}
	return nil
}

// isPlain reports whether a unit of UTF-16 stands for itself.
func isPlain(unit uint16) bool { return unit >= ' ' && unit < 0x7f && unit != '"' && unit != '\\' }

func appendUnit(out []byte, unit uint16) []byte {
	const digits = "0123456789abcdef"
	switch {
	case isPlain(unit):
		return append(out, byte(unit))
	case unit < 0x7f:
		text := rawjson.AppendPlainText(nil, string(rune(unit)))
		return append(out, text[1:len(text)-1]...)
	default:
		return append(out, '\\', 'u', digits[unit>>12], digits[unit>>8&15], digits[unit>>4&15], digits[unit&15])
	}
}

// FromJSON returns the message, or the item of one, that a JSON text says.
func FromJSON(text []byte) ([]byte, error) {
	if !json.Valid(text) {
		return nil, errors.New("it is not JSON")
	}
	return appendNext(make([]byte, 0, len(text)+HeadBytes), json.NewDecoder(bytes.NewReader(text)))
}

// appendNext writes the next value, or the next key, of a text that is valid.
func appendNext(out []byte, dec *json.Decoder) ([]byte, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		return appendEnvelope(out, token, dec)
	case bool:
		if token {
			return append(out, isTrue), nil
		}
		return append(out, isFalse), nil
	case float64:
		return appendNumber(out, token), nil
	case string:
		return append(appendHead(out, kindText, len(token)), token...), nil
	default:
		return append(out, isNull), nil
	}
}

func appendEnvelope(out []byte, open json.Delim, dec *json.Decoder) (_ []byte, err error) {
	start := byte(listStart)
	if open == '{' {
		start = objectStart
	}
	at := len(out)
	out = append(append(out, envelope...), 0, 0, 0, 0, start)
	for dec.More() {
		if out, err = appendNext(out, dec); err != nil {
			return nil, err
		}
	}
	if _, err := dec.Token(); err != nil { // the closing bracket
		return nil, err
	}
	out = append(out, stop)
	binary.BigEndian.PutUint32(out[at+len(envelope):], uint32(len(out)-at-HeadBytes))
	return out, nil
}

// appendNumber writes a number. The form has whole ones of 32 bits with their sign.
func appendNumber(out []byte, f float64) []byte {
	switch n := int64(f); {
	case f < math.MinInt32 || f > math.MaxInt32 || float64(n) != f:
		return binary.BigEndian.AppendUint64(append(out, double), math.Float64bits(f))
	case n < 0:
		return appendHead(out, kindNegative, int(-1-n))
	default:
		return appendHead(out, kindNumber, int(n))
	}
}

func appendHead(out []byte, kind byte, n int) []byte {
	switch kind <<= 5; {
	case n < 24:
		return append(out, kind|byte(n))
	case n <= math.MaxUint8:
		return append(out, kind|24, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, kind|25), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(out, kind|26), uint32(n))
	}
}
