package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

//go:generate go test -run ^TestManPages$ -update

// TestManPages compares docs/man with the pages of the commands, one for each
// that has something to say.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "docs", "man")
	pages := map[string][]byte{}
	root := newCommand(&environment{})
	root.DisableAutoGenTag = true
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		// A page is the same on every day and of every version.
		date := time.Unix(0, 0).UTC()
		header := doc.GenManHeader{Title: strings.ToUpper(strings.ReplaceAll(c.CommandPath(), " ", "-")), Section: "1", Date: &date, Source: "Sallyport", Manual: "Sallyport"}
		var b bytes.Buffer
		if err := doc.GenMan(c, &header, &b); err != nil {
			t.Fatal(err)
		}
		pages[strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"] = bytes.ReplaceAll(b.Bytes(), []byte(`"Jan 1970"`), []byte(`""`))
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, page := range pages {
			if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		if pages[e.Name()] == nil {
			t.Errorf("%s is the page of no command: run make generate", e.Name())
		}
	}
	for name, page := range pages {
		if have, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(have, page) {
			t.Errorf("%s differs from the source (%v): run make generate", name, err)
		}
	}
}
