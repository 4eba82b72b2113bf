package output

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// minSecret is the smallest value that is searched for; anything shorter
	// would tear holes into ordinary text.
	minSecret = 8
	// maxSecret bounds a value; it is far above any key file.
	maxSecret = 64 << 10
	// maxNeedles bounds all values and their lines together.
	maxNeedles = 1 << 16
	// minLine is the smallest line of a longer value that is searched for on
	// its own.
	minLine = 16
)

var (
	errShort = errors.New("output: a secret value has fewer than 8 visible bytes or 3 visible characters")
	errLong  = fmt.Errorf("output: a secret value has more than %d bytes", maxSecret)
	errOwn   = errors.New("output: a secret value is part of the marker [REDACTED:secret]")
	errMany  = fmt.Errorf("output: the secret values have more than %d lines", maxNeedles)
)

// needleUnit is one character of a needle.
type needleUnit struct {
	text string
	r    rune
	// optional units are controls and hidden characters, which the text may
	// have lost; those that end a line are among them.
	optional, ends bool
}

// formShape is a kind of encodings of all needles.
type formShape uint8

const (
	shapeText formShape = iota
	shapeHex
	shapeBase64
	shapes
)

// addNeedles prepares all values, sorted so that the index is always the same.
func (c *Cleaner) addNeedles() error {
	seen := make(map[string]bool)
	for _, v := range slices.Sorted(maps.Keys(c.values)) {
		if len(v) > maxSecret {
			return errLong
		}
		if len(v) < minSecret {
			return errShort
		}
		raw := strings.TrimFunc(strings.ReplaceAll(v, "\r\n", "\n"), isDroppedAtEnds)
		if strings.Contains(markSecret.String(), raw) {
			return errOwn
		}
		if !c.addNeedle(raw, seen) {
			return errShort
		}
		for line := range strings.SplitSeq(raw, "\n") {
			line = strings.TrimFunc(line, isDroppedAtEnds)
			if len(line) >= minLine && !strings.HasPrefix(line, "-----") {
				c.addNeedle(line, seen)
			}
		}
		if len(c.needles) > maxNeedles {
			return errMany
		}
	}
	return nil
}

// addNeedle adds one value or line; it is false when too little of it shows.
func (c *Cleaner) addNeedle(raw string, seen map[string]bool) bool {
	if seen[raw] {
		return true
	}
	visible, symbols := 0, 0
	units := splitUnits(raw)
	for _, u := range units {
		if !u.optional && !isDroppedAtEnds(u.r) && u.r != utf8.RuneError {
			visible += len(u.text)
			symbols++
		}
	}
	if visible < minSecret || symbols < keySymbols {
		return false
	}
	seen[raw] = true
	if _, err := strconv.ParseFloat(raw, 64); err == nil {
		c.digits = true
	}
	c.needles = append(c.needles, raw)
	c.addAnchors(raw, units)
	return true
}

// splitUnits splits a value into characters. A run of blanks becomes one, and
// blanks after a line break are dropped, as the comparison does with the text.
func splitUnits(raw string) []needleUnit {
	t := basicPlane()
	s := strings.ToValidUTF8(raw, replacement)
	units := make([]needleUnit, 0, len(s))
	for i, r := range s {
		u := needleUnit{text: s[i : i+utf8.RuneLen(r)], r: r}
		u.ends = r == '\n' || r == '\r' || t.classOf(r)&lineBreak != 0
		u.optional = u.ends || r == '\t' || t.classOf(r)&hidden != 0
		switch {
		case r == ' ' && len(units) > 0 && units[len(units)-1].ends: // it belongs to the line break
			continue
		case r == ' ':
			units = trimOptional(units)
		case r == '\\' && len(units) > 0 && units[len(units)-1].r == '\\':
			units[len(units)-1].text += u.text
			continue
		}
		if n := len(units); r == ' ' && n > 0 && units[n-1].r == ' ' {
			continue
		}
		units = append(units, u)
	}
	return units
}

// trimOptional drops optional units at the end that a blank comes before:
// with a blank after them too, the run is one blank that may hold controls.
func trimOptional(units []needleUnit) []needleUnit {
	n := len(units)
	for n > 0 && units[n-1].optional && units[n-1].r != ' ' {
		n--
	}
	if n == 0 || n == len(units) || units[n-1].r != ' ' {
		return units
	}
	units[n-1].optional = true
	return units[:n]
}

// isDroppedAtEnds reports whether a character is left out at the ends of a
// value: the register does not see it, so a comparison begins after it.
func isDroppedAtEnds(r rune) bool {
	c := basicPlane().classOf(r)
	return r == '\n' || r == '\t' || c&(hidden|lineBreak|blank) != 0
}

// addAnchors adds the anchors of all encodings of a needle; their argument is the
// shape.
func (c *Cleaner) addAnchors(raw string, units []needleUnit) {
	add := func(s string, shape formShape) {
		if a, ok := rarestAnchor(s, ruleForm, int(shape)); ok {
			c.anchors = append(c.anchors, a)
		}
	}
	for _, s := range textForms(raw, units) {
		add(s, shapeText)
	}
	for _, s := range hexForms(raw) {
		add(s, shapeHex)
	}
	for _, raw := range lineEndings(raw) {
		for offset := range 3 {
			digits, _, _ := base64Digits(raw[:min(len(raw), 2*window)], offset)
			add(digits, shapeBase64)
		}
	}
}

// formAnchors returns the anchors of all needles, each once.
func (c *Cleaner) formAnchors() []anchor {
	all := c.anchors
	c.anchors = nil
	slices.SortFunc(all, func(a, b anchor) int {
		return cmp.Or(cmp.Compare(a.code, b.code), cmp.Compare(a.mask, b.mask), cmp.Compare(a.arg, b.arg))
	})
	return slices.Compact(all)
}

// lineEndings returns a value, and as it is with the line ends of Windows when it
// has any.
func lineEndings(raw string) []string {
	if crlf := strings.ReplaceAll(raw, "\n", "\r\n"); crlf != raw {
		return []string{raw, crlf}
	}
	return []string{raw}
}

// textForms returns how the beginning of a needle may be written. Encoders
// leave letters and digits alone or encode everything, so that a needle that
// begins with four of them needs no more than these.
func textForms(raw string, all []needleUnit) []string {
	head := raw[:min(len(raw), 4*window)]
	var units, percent, cString, visible strings.Builder
	for i, u := range all {
		if !u.optional && visible.Len() < 4*window {
			visible.WriteString(u.text)
		}
		if i < window {
			fmt.Fprintf(&units, `\u%04x`, u.r)
		}
	}
	for _, b := range []byte(head[:min(len(head), window)]) {
		fmt.Fprintf(&percent, "%%%02x", b)
		fmt.Fprintf(&cString, `\x%02x`, b)
	}
	forms := []string{units.String(), percent.String(), cString.String()}
	run := 0
	for run < len(head) && isAlnum(head[run]) {
		run++
	}
	if run >= 4 {
		return append(forms, head[:run])
	}
	head = strings.ToValidUTF8(head, replacement)
	quoted, ascii := strconv.Quote(head), strconv.QuoteToASCII(head)
	for _, s := range []string{visible.String(), quoted[1 : len(quoted)-1], jsonEscape(head, false)} {
		forms = append(forms, strings.ReplaceAll(s, `\`, ""))
	}
	return append(forms, visible.String(), quoted[1:len(quoted)-1], ascii[1:len(ascii)-1],
		jsonEscape(head, true), jsonEscape(head, false),
		strings.ReplaceAll(jsonEscape(head, false), "/", `\/`), html.EscapeString(head),
		url.PathEscape(head), url.QueryEscape(head), componentEscape(head))
}

// jsonEscape returns s as it stands between the quotation marks of JSON.
func jsonEscape(s string, forHTML bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(forHTML)
	_ = e.Encode(s) // a string always has a JSON form
	return b.String()[1 : b.Len()-2]
}

// componentEscape escapes like encodeURIComponent of ECMAScript.
func componentEscape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if isAlnum(c) || strings.IndexByte("-_.!~*'()", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// hexForms returns how a dump of the bytes may begin; blanks between bytes
// are no symbols and need no form of their own.
func hexForms(raw string) []string {
	forms := []string{"%02x", "%02x:", "%02x-", "0x%02x,"}
	for i, format := range forms {
		var b strings.Builder
		for _, c := range []byte(raw[:min(len(raw), window)]) {
			fmt.Fprintf(&b, format, c)
		}
		forms[i] = b.String()
	}
	return forms
}

// base64Digits returns the digits that a value decides when offset bytes of
// something else come before it in a group of three, and whether the digit
// before or after holds some of its bits too.
func base64Digits(raw string, offset int) (digits string, lead, trail bool) {
	padded := make([]byte, offset, offset+len(raw))
	enc := base64.RawStdEncoding.EncodeToString(append(padded, raw...))
	whole := (offset + len(raw)) * 8 / 6
	// A digit holds six bits: the first that lies wholly in the value is
	// the one after bit 8*offset, rounded up.
	return enc[(8*offset+5)/6 : whole], offset > 0, whole < len(enc)
}
