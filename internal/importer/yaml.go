package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// renderDocument returns the plan as a configuration file of its own, with remarks.
func (p *serverPlan) renderDocument(title string) (string, error) {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		b.WriteString(strings.Repeat(" ", indent) + text + "\n")
	}
	line(0, "# The MCP servers of %s, as `sallyport import` reads them.", text.PrintableLine(title))
	line(0, "version: 2")
	if len(p.registries) > 0 {
		line(0, "packages:")
	}
	for _, l := range p.renderRegistries() {
		line(2, "%s", l)
	}
	if len(p.readyServers()) > 0 {
		line(0, "mcp_servers:")
	}
	for _, s := range p.servers {
		if s.state != stateReady {
			line(2, "# %s, %s: %s", text.PrintableLine(s.from.Name), s.state, text.OneLine(strings.Join(s.why, "; ")))
			continue
		}
		lines, err := s.renderServer()
		if err != nil {
			return "", err
		}
		for _, l := range append(s.renderComments(), lines...) {
			line(2, "%s", l)
		}
	}
	if len(p.grantedServers()) == 0 {
		return b.String(), nil
	}
	line(0, "personalities:")
	for _, l := range p.renderPersonality(2) {
		line(2, "%s", l)
	}
	return b.String(), nil
}

// renderComments returns the comments about a server.
func (p *plannedServer) renderComments() (lines []string) {
	lines = append(lines, "# "+text.PrintableLine(p.from.At))
	for _, n := range p.notes {
		lines = append(lines, "# "+text.OneLine(n))
	}
	for _, s := range p.secrets {
		lines = append(lines, "# "+text.OneLine(text.PrintableLine(s.locate(""))))
	}
	return lines
}

// renderPersonality returns the lines of a personality that may use these servers and
// nothing else. Under version 2 of the format their declarations bound its files.
func (p *serverPlan) renderPersonality(version int) []string {
	lines := []string{
		p.role + ":",
		"  description: " + strconv.Quote("The MCP servers of "+text.PrintableLine(p.files[0].Client.Title)+"."),
		"  tools: []",
		"  mcp_servers:",
	}
	lines = append(lines, renderItems("    ", p.grantedServers())...)
	reads, writes := p.readPaths(), p.writePaths()
	if len(reads)+len(writes) == 0 || version == 2 {
		return lines
	}
	if len(reads) > 0 {
		lines = append(append(lines, "  read:"), renderItems("    ", reads)...)
	}
	if len(writes) > 0 {
		lines = append(append(lines, "  write:"), renderItems("    ", writes)...)
	}
	return lines
}

func renderItems(indent string, list []string) (lines []string) {
	for _, s := range list {
		lines = append(lines, indent+"- "+strconv.Quote(s))
	}
	return lines
}

// renderServer returns the YAML of a declaration, one key on each line, below the name
// of its server.
func (p *plannedServer) renderServer() ([]string, error) {
	text, err := json.Marshal(&p.entry)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&values); err != nil {
		return nil, err
	}
	lines := []string{p.name + ":"}
	for _, key := range []string{"command", "cwd", "url", "transport", "headers", "env", "secret_env", "capabilities"} {
		if v, ok := values[key]; ok {
			lines = append(lines, "  "+key+": "+renderValue(v))
		}
	}
	return append(lines, renderEffects(values["effects"])...), nil
}

// renderEffects returns the lines of what the tools of a server do, one for each tool.
func renderEffects(v any) (lines []string) {
	tools, _ := v.(map[string]any)
	if len(tools) == 0 {
		return nil
	}
	lines = []string{"  # What its tools do, as far as it is known: see that you agree."}
	lines = append(lines, "  effects:")
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		lines = append(lines, "    "+renderKey(name)+": "+renderValue(tools[name]))
	}
	return lines
}

// plainKey matches a key that needs no quotes.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// renderKey returns a key, in quotes where YAML would read another type.
func renderKey(key string) string {
	if !plainKey.MatchString(key) || slices.Contains([]string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}, strings.ToLower(key)) {
		return strconv.Quote(key)
	}
	return key
}

// renderValue returns a value on one line. It quotes texts, so that YAML reads none of
// them as another type, and escapes characters that do not print.
func renderValue(v any) string {
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, renderKey(key)+": "+renderValue(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = renderValue(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}
