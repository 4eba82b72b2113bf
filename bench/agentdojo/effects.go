package main

import (
	"fmt"
	"strings"
)

// declareEffects writes the effects of the tools of a suite as the value of the key
// effects of their server, of one line.
func declareEffects(w suiteWorld) string {
	var tools []string
	for _, tool := range w.Tools {
		e, ok := w.effects[tool.Name]
		if !ok {
			continue // nothing is known of it
		}
		text := fmt.Sprintf("%s: {does: [%s]", quoteText(tool.Name), strings.Join(e.Effects, ", "))
		if len(e.Destinations) > 0 {
			var destinations []string
			for _, property := range sortedKeys(e.Destinations) {
				destinations = append(destinations, quoteText(property)+": "+kindName(e.Destinations[property]))
			}
			text += ", destinations: {" + strings.Join(destinations, ", ") + "}"
		}
		tools = append(tools, text+"}")
	}
	return "{" + strings.Join(tools, ", ") + "}"
}

// kindName returns the name of a kind of values in a configuration.
func kindName(kind string) string {
	if kind == "iban" {
		return "account"
	}
	return kind
}
