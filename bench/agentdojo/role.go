package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// amountFactor is how much more than the largest amount of the clean world a call,
// and all calls of a day, may spend.
const amountFactor = 2

// generateRole writes the role of a suite: a part of a configuration with the sets
// that the clean world gives and a ceiling for each tool that sends something
// somewhere. It is made of the definitions, their effects and the world alone, and
// equal ones give an equal text.
func generateRole(suite string, w suiteWorld) (string, error) {
	leaves, err := readLeaves(w.Environment)
	if err != nil {
		return "", fmt.Errorf("%s: %w", suite, err)
	}
	var b strings.Builder
	writeSets(&b, findKnown(w, leaves))
	b.WriteString(plainRole(suite))
	b.WriteString("    arguments:\n")
	ceilings := 0
	for _, tool := range w.Tools {
		lines, err := ceilingOf(tool, w.effects[tool.Name], leaves)
		if err != nil {
			return "", fmt.Errorf("%s: %s: %w", suite, tool.Name, err)
		}
		if len(lines) == 0 {
			continue
		}
		ceilings++
		fmt.Fprintf(&b, "      %s:\n", quoteText("mcp__"+serverName(suite)+"__"+tool.Name))
		for _, line := range lines {
			fmt.Fprintf(&b, "        %s\n", line)
		}
	}
	text := b.String()
	if ceilings == 0 {
		text = strings.TrimSuffix(text, "    arguments:\n")
	}
	return text, nil
}

// plainRole is a role of a suite without any rule of its own.
func plainRole(suite string) string {
	return fmt.Sprintf("personalities:\n  %[1]s:\n    tools: []\n    mcp_servers: [%[1]s]\n", serverName(suite))
}

// serverName returns the name of the server, and of the role, of a suite.
func serverName(suite string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, suite)
}

func writeSets(b *strings.Builder, known knownSets) {
	b.WriteString("known:\n")
	for _, set := range sortedKeys(known) {
		fmt.Fprintf(b, "  %s:\n    kind: %s\n", set, kindOfSet(set))
		if len(known[set]) > 0 {
			b.WriteString("    list:\n")
		}
		for _, member := range known.members(set) {
			fmt.Fprintf(b, "      - %s\n", quoteText(member))
		}
	}
}

// quoteText returns a text as a scalar of YAML in double quotes.
func quoteText(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a text can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// toolSchema is what the generator reads of the schema of a tool.
type toolSchema struct {
	Properties map[string]propertySchema `json:"properties"`
	Required   []string                  `json:"required"`
	Defs       map[string]propertySchema `json:"$defs"`
}

type propertySchema struct {
	Type  any              `json:"type"`
	AnyOf []propertySchema `json:"anyOf"`
	Enum  []any            `json:"enum"`
	Ref   string           `json:"$ref"`
}

// isAmount reports whether a property may be a number with a fraction. Whole numbers
// are counts and IDs.
func (p propertySchema) isAmount() bool {
	return p.Type == "number" || slices.ContainsFunc(p.AnyOf, propertySchema.isAmount)
}

// ceilingOf returns the lines of the ceiling of a tool: what says where something
// goes has to be known, and no more may be spent than the world makes likely.
func ceilingOf(tool toolDefinition, effects toolEffects, leaves []worldLeaf) (lines []string, err error) {
	var schema toolSchema
	if err := json.Unmarshal(tool.Schema, &schema); err != nil {
		return nil, err
	}
	for _, property := range sortedKeys(effects.Destinations) {
		set, ok := setOfKind(effects.Destinations[property])
		if !ok {
			return nil, fmt.Errorf("the world has no set for %s, of the kind %s", property, effects.Destinations[property])
		}
		if _, declared := schema.Properties[property]; !declared {
			return nil, fmt.Errorf("its schema has no %s", property)
		}
		lines = append(lines, fmt.Sprintf("%s: {known: %s, else: hold}", quoteText(property), set))
	}
	if !slices.Contains(effects.Effects, "spending") {
		return lines, nil
	}
	for _, property := range sortedKeys(schema.Properties) {
		most := amountFactor * largestAmount(property, leaves)
		if !schema.Properties[property].isAmount() || most == 0 {
			continue
		}
		bound := strconv.FormatFloat(most, 'f', -1, 64)
		lines = append(lines, fmt.Sprintf("%s: {maximum: %[2]s, else: hold, sum: {max: %[2]s, per: 1d}}", quoteText(property), bound))
	}
	return lines, nil
}

// largestAmount returns the largest number below keys of the name in the world.
func largestAmount(key string, leaves []worldLeaf) (largest float64) {
	for _, leaf := range leaves {
		if n, err := strconv.ParseFloat(leaf.text, 64); leaf.key == key && err == nil && !math.IsInf(n, 0) && !math.IsNaN(n) {
			largest = max(largest, n)
		}
	}
	return largest
}

// digestOf returns the digest by which a role is told from another.
func digestOf(role string) string {
	sum := sha256.Sum256([]byte(role))
	return hex.EncodeToString(sum[:])
}
