package output

import (
	"bytes"
	"slices"
)

// Holds reports whether bytes that are no text contain a known secret, in the
// forms in which [Cleaner.Text] finds one, in UTF-8 or, where its characters are
// of ASCII, in UTF-16 or UTF-32. What is compressed or drawn is not seen.
func (c *Cleaner) Holds(data []byte) bool {
	if len(c.values) == 0 || len(data) == 0 {
		return false
	}
	return c.holdsSecret(data) || c.holdsSecret(narrowChars(data, 2)) || c.holdsSecret(narrowChars(data, 4))
}

// narrowChars returns the runs of characters of ASCII that are so many bytes
// wide, in either order of the bytes, with something else between them.
func narrowChars(data []byte, width int) (out []byte) {
	for i, run := 0, false; i < len(data); {
		switch b := data[i]; {
		case b != 0 && b < 0x80 && len(bytes.TrimLeft(data[i+1:min(i+width, len(data))], "\x00")) == 0:
			out, run, i = append(out, b), true, i+width
		case run: // the last one of a run may have no zeros after it
			out, run, i = append(out, b, 0xff), false, i+1
		default: // on to what has a zero after it
			next := bytes.IndexByte(data[i+1:], 0)
			if next < 0 {
				return out
			}
			i += max(next, 1)
		}
	}
	return out
}

func (c *Cleaner) holdsSecret(data []byte) bool {
	return slices.ContainsFunc(c.findSpans(string(data)), func(x markedSpan) bool { return x.mark == markSecret })
}
