package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/output"
)

// describeDryRun answers a dry run: no accessor is made and no limit consumed.
func (c *call) describeDryRun(ctx context.Context) sallyport.Result {
	var args bytes.Buffer
	if err := json.Compact(&args, c.doc.JSON); err != nil {
		// The text was decoded a moment ago, so that this cannot happen.
		args.WriteString("{}")
	}
	// Cleaning comes first, so that nothing is abridged within a secret.
	clean := c.cleaner().Text("[dry-run] " + c.q.Tool + " would be called with: " + args.String())
	c.result = sallyport.OK(string(abridgeJSON([]byte(clean))))
	c.result.CallID = c.id
	c.cleanResult()
	c.cleaned.value, _ = output.Trim(c.cleaned.value, c.budget)
	if c.above.why != "" {
		c.addDecision(sallyport.Decision{Step: sallyport.StepApprove, Allowed: true, Why: "the call would be held: " + c.above.why, Source: c.ceilingSource(c.above.key)})
	}
	c.allowStep(sallyport.StepDryRun)
	return c.recordOutcome(ctx)
}

// abridgeJSON shortens string literals of more than 500 characters in JSON
// text, which keeps a described call readable.
func abridgeJSON(text []byte) []byte {
	const most = 500
	if len(text) <= most {
		return text
	}
	var out []byte
	for i := 0; i < len(text); {
		if text[i] != '"' {
			out = append(out, text[i])
			i++
			continue
		}
		end := i + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(text))
		out = append(out, abridgeLiteral(text[i:end], most)...)
		i = end
	}
	return out
}

func abridgeLiteral(literal []byte, most int) []byte {
	var s string
	if len(literal) <= most || json.Unmarshal(literal, &s) != nil {
		return literal
	}
	chars := utf8.RuneCountInString(s)
	if chars <= most {
		return literal
	}
	short, err := json.Marshal(fmt.Sprintf("%s...[truncated, %d chars]", text.FirstChars(s, most), chars))
	if err != nil {
		return literal
	}
	return short
}
