package engine

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
)

// Collector gathers rows until there are enough.
type Collector struct {
	// MaxRows bounds the rows.
	MaxRows int
	// MaxBytes bounds their values together.
	MaxBytes int64
	// Table holds the rows; More is set when there are others.
	Table sallyport.Table

	bytes int64
}

// SetColumns sets the names.
func (c *Collector) SetColumns(names []string) {
	for i, name := range names {
		names[i] = strings.ToValidUTF8(name, "\ufffd")
	}
	c.Table.Columns = names
}

// isFull reports whether no row fits any more; then More is set.
func (c *Collector) isFull() bool {
	if len(c.Table.Rows) >= c.MaxRows {
		c.Table.More = true
	}
	return c.Table.More
}

// AddRow adds a row, which it retains. It returns false when there are enough.
func (c *Collector) AddRow(row []any) (more bool, err error) {
	if c.isFull() {
		return false, nil
	}
	size := int64(2)
	for _, v := range row {
		size += sizeOf(v)
	}
	if c.bytes+size > c.MaxBytes {
		if len(c.Table.Rows) == 0 {
			return false, ErrRowTooLarge
		}
		c.Table.More = true
		return false, nil
	}
	c.bytes += size
	c.Table.Rows = append(c.Table.Rows, row)
	return true, nil
}

// NextPageSize returns how many rows to fetch next: first for the first page,
// then as many as will fit if they are as long as those so far, and one more,
// which tells whether there are more.
func (c *Collector) NextPageSize(first int) int {
	n := len(c.Table.Rows)
	if n == 0 {
		return first
	}
	average := c.bytes/int64(n) + 1
	return max(1, min(c.MaxRows+1-n, int((c.MaxBytes-c.bytes)/average)+1))
}

// sizeOf estimates the length of a value as JSON.
func sizeOf(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v)) + 3
	case map[string]any:
		s, _ := v["base64"].(string)
		return int64(len(s)) + 14
	default:
		return 8
	}
}

// maxExact is the largest integer up to which every integer is one of a
// float64, which is what most readers of JSON make of a number.
const maxExact = 1<<53 - 1

// IntegerValue returns a number where every reader of JSON gets it exactly,
// else text.
func IntegerValue(n int64) any {
	if n > maxExact || n < -maxExact {
		return strconv.FormatInt(n, 10)
	}
	return n
}

// UnsignedValue is [IntegerValue] for unsigned numbers.
func UnsignedValue(n uint64) any {
	if n > maxExact {
		return strconv.FormatUint(n, 10)
	}
	return int64(n)
}

// FloatValue returns a number, or text for those that JSON does not have.
func FloatValue(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	default:
		return f
	}
}

// TextValue returns a text, or bytes when it is not UTF-8.
func TextValue(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return base64Value([]byte(s))
}

// BinaryValue returns the text that bytes are, if they are one without control
// characters, else their Base64 form in an object of its own, so that no reader
// takes one for the other.
func BinaryValue(b []byte) any {
	if !utf8.Valid(b) {
		return base64Value(b)
	}
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return base64Value(b)
		}
	}
	return string(b)
}

func base64Value(b []byte) any {
	return map[string]any{"base64": base64.StdEncoding.EncodeToString(b)}
}

// TimeValue turns "2006-01-02 15:04:05.999" into RFC 3339. A zone of "" is a
// time without one, which stays without. What is no such time stays as it is.
func TimeValue(s, zone string) any {
	date, clock, ok := strings.Cut(s, " ")
	if !ok || len(date) != len(time.DateOnly) || len(clock) < len(time.TimeOnly) {
		return TextValue(s)
	}
	out := date + "T" + clock + zone
	layout := "2006-01-02T15:04:05.999999999"
	if zone != "" {
		layout = time.RFC3339Nano
	}
	if _, err := time.Parse(layout, out); err != nil {
		return TextValue(s)
	}
	return out
}
