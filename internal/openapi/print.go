package openapi

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

type layerPrinter struct{ b strings.Builder }

func (im *importer) printLayer(name string, actions []builtAction) []byte {
	p := layerPrinter{}
	p.writeComment("", "Imported by sallyport import openapi from "+im.texts.cleanLine(filepath.Base(name))+
		": "+quoteShort(im.title)+" "+im.release+", OpenAPI "+im.version+".")
	p.writeComment("", "Every request goes to "+im.server.base+". What may be called, and by whom, is for the other files to say:")
	p.writeComment("", "permissions "+strings.Join(collectTexts(actions, "permissions"), ", ")+".")
	if refs := collectTexts(actions, "capabilities", "secrets"); len(refs) > 0 {
		p.writeComment("", "Secrets, for a source under secrets: "+strings.Join(refs, ", ")+".")
	}
	if im.server.plain {
		p.writeComment("", "The server is this machine: safety.network.allow_private_urls has to be true.")
	}
	for _, n := range im.notes {
		if n.Verdict == LeftOut {
			p.writeComment("", "Left out: "+n.Text)
		}
	}
	p.b.WriteString("version: 2\nactions:\n")
	for i := range actions {
		p.writeAction(&actions[i])
	}
	return []byte(p.b.String())
}

// collectTexts lists the texts at a place of all actions.
func collectTexts(actions []builtAction, path ...string) (list []string) {
	for i := range actions {
		var v any = actions[i].text
		for _, key := range path {
			o, _ := v.(orderedObject)
			v, _ = o.memberValue(key)
		}
		items, _ := v.([]any)
		for _, item := range items {
			if s, _ := item.(string); !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	slices.Sort(list)
	return list
}

// writeComment writes a comment. Its text is on one line already, and is put there
// again: whatever is in it is no key.
func (p *layerPrinter) writeComment(indent, text string) {
	fmt.Fprintf(&p.b, "%s# %s\n", indent, joinLines(text))
}

// writeAction writes one action as an item of a list.
func (p *layerPrinter) writeAction(m *builtAction) {
	if m.op.method != "" {
		p.writeComment("  ", m.op.methodAndPath())
	}
	for _, r := range m.remarks {
		p.writeComment("  ", "note: "+r)
	}
	lead := "  - "
	for _, k := range m.text {
		p.b.WriteString(lead)
		p.writeKey(k.name, k.value, "    ", 3)
		lead = "    "
	}
}

// writeKey writes a key with its value: a mapping in lines of its own down to a
// depth, the rest on one line.
func (p *layerPrinter) writeKey(name string, v any, indent string, depth int) {
	p.b.WriteString(yamlText(name) + ":")
	o, ok := v.(orderedObject)
	if !ok || len(o) == 0 || depth == 0 || len(jsonInline(v)) < 80 {
		p.b.WriteByte(' ')
		writeInline(&p.b, v, yamlText)
		p.b.WriteByte('\n')
		return
	}
	p.b.WriteByte('\n')
	for _, m := range o {
		p.b.WriteString(indent + "  ")
		p.writeKey(m.name, m.value, indent+"  ", depth-1)
	}
}

// bare are the texts that need no quotes in any YAML.
var bare = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

// words are those that some reader of YAML takes for something else.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

func yamlText(s string) string {
	if bare.MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	return jsonText(s)
}
