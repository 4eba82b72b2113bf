package yamledit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// plainKey matches a key that needs no quotes in YAML.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// spellKey returns a key as a text spells it.
func (t *tree) spellKey(key string) string {
	reserved := []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
	if t.json || !plainKey.MatchString(key) || slices.Contains(reserved, strings.ToLower(key)) {
		return quoteScalar(key)
	}
	return key
}

// blockLines returns the lines of a list with one item below keys.
func (t *tree) blockLines(indent int, keys []string, item string) (lines []string) {
	for i, key := range keys {
		line := strings.Repeat(" ", indent+2*i) + t.spellKey(key) + ":"
		if i == len(keys)-1 {
			line += " [" + quoteScalar(item) + "]"
		}
		lines = append(lines, line)
	}
	return lines
}

// fillNothing writes below a key that has no value.
func (t *tree) fillNothing(key yamldoc.Field, rest []string, item string) (string, error) {
	line := t.lineOf(max(key.At.Line, 1))
	_, value, _ := strings.Cut(line, ":")
	if value = strings.TrimSpace(value); key.Value == nil || value != "" && value[0] != '#' {
		return "", ErrStyle
	}
	indent := key.At.Column - 1
	if len(rest) > 0 {
		return t.insertLines(key.At.Line, t.blockLines(indent+2, rest, item)...), nil
	}
	return t.insertLines(key.At.Line, strings.Repeat(" ", indent+2)+"- "+quoteScalar(item)), nil
}

// appendItem adds an item to a list.
func (t *tree) appendItem(list *yamldoc.Value, item string) (string, error) {
	if t.isFlow(list) {
		return t.appendFlow(list, quoteScalar(item))
	}
	indent := list.At.Column - 1
	return t.insertLines(t.lastLine(list, indent), strings.Repeat(" ", indent)+"- "+quoteScalar(item)), nil
}

// appendKey adds keys with a list of one item to a mapping.
func (t *tree) appendKey(mapping *yamldoc.Value, keys []string, item string) (string, error) {
	if !t.isFlow(mapping) {
		if len(mapping.Fields) == 0 {
			return "", ErrStyle
		}
		indent := mapping.Fields[0].At.Column - 1
		return t.insertLines(t.lastLine(mapping, indent), t.blockLines(indent, keys, item)...), nil
	}
	value := "[" + quoteScalar(item) + "]"
	for i, key := range slices.Backward(keys) {
		value = t.spellKey(key) + ": " + value
		if i > 0 {
			value = "{" + value + "}"
		}
	}
	return t.appendFlow(mapping, value)
}

// removeLine takes an item of one line off a list.
func (t *tree) removeLine(list *yamldoc.Value, key yamldoc.Field, index int) (string, error) {
	item := list.Items[index]
	from, to := t.starts[item.At.Line-1], t.lineEnd(item.At.Line)
	if !strings.HasPrefix(strings.TrimSpace(t.lineOf(item.At.Line)), "- ") {
		return "", ErrStyle
	}
	out := t.text[:from] + t.text[to:]
	if len(list.Items) > 1 {
		return out, nil
	}
	// An empty list has no line of its own, and its key means another thing without
	// a value.
	at := t.offset(key.At)
	colon := strings.Index(t.text[at:from], ":")
	if key.Value == nil || colon < 0 {
		return "", ErrStyle
	}
	return out[:at+colon+1] + " []" + out[at+colon+1:], nil
}
