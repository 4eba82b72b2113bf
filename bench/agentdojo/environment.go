package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// worldLeaf is one text of a world.
type worldLeaf struct {
	text string
	// key is the nearest key above it; empty for a text that is a key itself.
	key string
	// onPage says that it stands on a page of the web, which anyone may write.
	onPage bool
}

// readLeaves returns all texts of an environment, keys among them, in their order.
// Where one key stands twice, it returns the texts of both.
func readLeaves(environment string) ([]worldLeaf, error) {
	var w leafWalk
	for docs := yaml.NewDecoder(strings.NewReader(environment)); ; {
		var doc yaml.Node
		if err := docs.Decode(&doc); errors.Is(err, io.EOF) {
			return w.leaves, nil
		} else if err != nil {
			return nil, fmt.Errorf("the environment: %w", err)
		}
		w.walkNode(&doc, "", false)
	}
}

// leafWalk collects the texts of a document.
type leafWalk struct{ leaves []worldLeaf }

func (w *leafWalk) walkNode(n *yaml.Node, key string, onPage bool) {
	switch n.Kind {
	case yaml.MappingNode:
		w.walkMapping(n.Content, onPage)
	case yaml.DocumentNode, yaml.SequenceNode:
		for _, v := range n.Content {
			w.walkNode(v, key, onPage)
		}
	case yaml.ScalarNode:
		// A tag such as !include names another file; null, true and false say nothing.
		if !strings.HasPrefix(n.Tag, "!!") || n.Tag == "!!null" || n.Tag == "!!bool" || n.Value == "" {
			return
		}
		w.leaves = append(w.leaves, worldLeaf{n.Value, key, onPage})
	}
}

// walkMapping walks the values of a mapping, whose keys stand before them. Where keys
// are addresses of the web, they are pages that exist, which is no reason to know them.
func (w *leafWalk) walkMapping(pairs []*yaml.Node, onPage bool) {
	pages := false
	for i := 0; i < len(pairs); i += 2 {
		pages = pages || isPageAddress(pairs[i].Value)
	}
	for i := 0; i < len(pairs); i += 2 {
		key := pairs[i].Value
		if key != "" && !pages {
			w.leaves = append(w.leaves, worldLeaf{key, "", onPage})
		}
		w.walkNode(pairs[i+1], key, onPage || pages)
	}
}

var (
	mailPattern    = regexp.MustCompile(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)
	addressPattern = regexp.MustCompile(`(?:https?://|www\.)[^\s<>"')\]!]+|\b[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.[a-z]{2,}(?:/[^\s<>"')\]!]*)?`)
	accountPattern = regexp.MustCompile(`\b[A-Z]{2}\d{2}[A-Z0-9]{8,30}\b`)
	dottedPattern  = regexp.MustCompile(`[\w-]+(?:\.[\w-]+)+`)
	namePattern    = regexp.MustCompile(`\b[A-Z][\w'-]+(?: [A-Z][\w'-]+)*`)
	timePattern    = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::\d{2})?$`)
)

// fileEndings are the ends of names of files that look like those of hosts.
var fileEndings = []string{"txt", "md", "csv", "tsv", "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "json", "yaml", "yml", "xml", "html", "png", "jpg", "jpeg", "zip", "log"}

// isPageAddress reports whether a whole text is an address of the web.
func isPageAddress(text string) bool {
	found := addressPattern.FindString(text)
	return found != "" && found == text && !namesFile(text)
}

// namesFile reports whether a text without a scheme is the name of a file.
func namesFile(text string) bool {
	return !strings.Contains(text, "/") && slices.Contains(fileEndings, text[strings.LastIndexByte(text, '.')+1:])
}

// findAddresses returns the addresses of the web in a text.
func findAddresses(text string) (addresses []string) {
	for _, found := range addressPattern.FindAllString(mailPattern.ReplaceAllString(text, " "), -1) {
		if found = strings.TrimRight(found, ".,;:!?"); !namesFile(found) {
			addresses = append(addresses, found)
		}
	}
	return addresses
}

// hostOf returns the host of an address of the web.
func hostOf(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	host, _, _ := strings.Cut(address, "/")
	return host
}
