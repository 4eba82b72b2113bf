package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/internal/text"
)

// PrintKnown prints sets of values, with the members by which they grew where whole is
// true.
func PrintKnown(p *Printer, sets []app.KnownSet, whole bool) error {
	if p.JSON {
		return p.PrintJSON(sets)
	}
	if len(sets) == 0 {
		p.PrintLine("the configuration declares no set under known")
	}
	for i := range sets {
		s := &sets[i]
		from := ""
		if s.File != "" {
			from = ", file " + EscapeControls(s.File)
		}
		p.PrintLine("%s  %s  %s listed%s, grew by %d", s.Name, s.Kind, text.CountOf(s.Listed, "member"), from, len(s.Grown))
		if s.Query != nil {
			printReading(p, s.Query, "    query: ")
		}
		for _, m := range s.Members {
			p.PrintLine("    %+q", m.Value)
			p.PrintLine("        from its %s", m.From)
		}
		for j := range s.Grown {
			if m := &s.Grown[j]; whole {
				p.PrintLine("    %+q", m.Value)
				p.PrintLine("        %s", EscapeControls(fmt.Sprintf("given by %s at %s for held call %s%s", m.By, m.Given.UTC().Format(time.RFC3339), m.Approval, text.ReasonSuffix(m.Reason))))
			}
		}
	}
	return nil
}

// printReading prints what the query of a set gave.
func printReading(p *Printer, r *app.SetReading, before string) {
	if r.Error != "" {
		p.PrintLine("%s%s: no value is a member of the set", before, p.ColourBad(EscapeControls(r.Error)))
		return
	}
	p.PrintLine("%s%s from connection %s, read at %s", before, text.CountOf(r.Members, "member"), r.Connection, r.ReadAt.Local().Format(time.DateTime))
}

// PrintKnownFile prints members as the file of a set holds them, and returns how many no
// line can hold.
func PrintKnownFile(p *Printer, members []known.Member) (left int, err error) {
	values := []string{}
	for i := range members {
		v := strings.TrimSpace(members[i].Value)
		if strings.HasPrefix(v, "#") || v != text.PrintableLine(v) {
			left++
			continue
		}
		values = append(values, v)
	}
	if p.JSON {
		return left, p.PrintJSON(values)
	}
	for _, v := range values {
		p.PrintLine("%s", v)
	}
	return left, nil
}
