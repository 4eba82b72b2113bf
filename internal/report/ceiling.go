package report

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/text"
)

// shownSchema bounds a line of a schema in a table, in code points.
const shownSchema = 60

// printCeilings prints what the role says of arguments, a line for each of its words with
// what becomes of a value that it does not permit.
func printCeilings(p *Printer, ceilings []ceiling.Row) {
	if len(ceilings) == 0 {
		return
	}
	rows := [][]string{{"ARGUMENT", "DECLARED", "THE ROLE SAYS", "GRANTED", "ELSE", "AT"}}
	for i := range ceilings {
		c := &ceilings[i]
		said := splitCeiling(c)
		row := []string{
			cmp.Or(text.PrintableLine(c.Argument), "(all)"), text.Clip(cmp.Or(text.PrintableLine(string(c.Declared)), "nothing"), shownSchema),
			said[0].line, formatGranted(c), said[0].action, c.Source,
		}
		rows = append(rows, row)
		for _, more := range said[1:] {
			rows = append(rows, []string{"", "", more.line, "", more.action, ""})
		}
	}
	p.PrintLine("")
	p.PrintTable(rows)
}

// formatGranted returns the schema that remains of an argument. A bound that only holds a
// call, a set and a sum are not in it.
func formatGranted(c *ceiling.Row) string {
	switch {
	case c.Declared == nil && string(c.Ceiling) != "false":
		return "as the role says"
	case c.Granted == nil:
		return "no value"
	}
	granted := text.Clip(text.PrintableLine(string(c.Granted)), shownSchema)
	words := readWords(c.Ceiling)
	if c.Outside == ceiling.Hold || words["known"] != nil || words["sum"] != nil {
		granted += " within what the role says"
	}
	return granted
}

// ceilingLine is a line of what a role says of an argument.
type ceilingLine struct{ line, action string }

// splitCeiling returns what a role says of an argument, a line for each word. A longer one
// goes on in lines without an action, so that nothing of it is left out.
func splitCeiling(c *ceiling.Row) (lines []ceilingLine) {
	words := readWords(c.Ceiling)
	for _, word := range slices.Sorted(maps.Keys(words)) {
		said, action := word+": "+string(words[word]), string(c.Outside)
		switch word {
		case "else":
			continue // the action of the other words
		case "from_untrusted":
			_ = json.Unmarshal(words[word], &action) // which is a text
		}
		lines = appendWrapped(lines, said, action)
	}
	if len(lines) == 0 {
		lines = appendWrapped(nil, string(c.Ceiling), string(c.Outside))
	}
	return lines
}

func appendWrapped(lines []ceilingLine, said, action string) []ceilingLine {
	said = text.PrintableLine(said)
	for utf8.RuneCountInString(said) > shownSchema {
		head := string([]rune(said)[:shownSchema])
		lines, said, action = append(lines, ceilingLine{head, action}), said[len(head):], ""
	}
	return append(lines, ceilingLine{said, action})
}

// readWords returns the words of a ceiling; none for one that permits no value.
func readWords(said json.RawMessage) (words map[string]json.RawMessage) {
	_ = json.Unmarshal(said, &words) // false is no object
	return words
}
