package config

import (
	"fmt"
	"strings"
)

// keyDocs returns the table of keys, in the order of the documentation.
func keyDocs() []KeyDoc {
	rows := allKeys()
	docs := make([]KeyDoc, len(rows))
	for i := range rows {
		docs[i] = rows[i].KeyDoc
	}
	return docs
}

// referencePage returns the reference page of the configuration in Markdown.
func referencePage() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, k := range keyDocs() {
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\n", k.Key, k.Doc)
		if !k.Supported {
			b.WriteString("\nNot supported yet: the key is refused by name.\n")
			continue
		}
		fmt.Fprintf(&b, "\n- Type: %s\n", k.Type)
		switch {
		case k.Required && !strings.Contains(k.Key, "."):
			b.WriteString("- Required in every file, but one with `layers` alone\n")
		case k.Required:
			b.WriteString("- Required\n")
		case k.Default != "":
			fmt.Fprintf(&b, "- Absent: %s\n", k.Default)
		}
		_, last := splitKey(k.Key)
		if k.Example != "" {
			fmt.Fprintf(&b, "- Example: `%s: %s`\n", last, k.Example)
		}
	}
	return b.String()
}

const referenceHead = `<!-- Code generated from the table in internal/config/keys.go. DO NOT EDIT. -->
# Configuration reference

The file is ` + "`sallyport.yaml`" + `, in YAML or JSON, at most 1 MiB of UTF-8. Every path in it is relative to its own folder and
may begin with ` + "`${workspace}`, `${home}` or `${self}`" + ` (the folder of the file). Anchors, aliases, merge keys, tags and a second
document are refused. An unknown or duplicate key, a wrong type or a name that does not exist stops the start, with file, line
and column. ` + "`--config`" + ` may be given more than once: later files add keys and never override; names, the actions and the keys of ` + "`security`" + `
of all files add up. A duration is a whole number with ` + "`s`, `m`, `h` or `d`" + `.

An absent list and an empty one differ: ` + "`[]`" + ` always means nothing.

## Keys
`
