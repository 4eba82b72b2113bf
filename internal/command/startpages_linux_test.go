package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// pageFile matches a block that a line with a path introduces: the text of that
// file.
var pageFile = regexp.MustCompile("(?ms)^`([^`\n]+)`:\n\n```[a-z]+\n(.*?)^```$")

// TestStartPages follows each page for newcomers from its beginning to its end:
// it writes the files and runs the commands of the page in one project. The
// sections that use an MCP server fetch it from npm.
func TestStartPages(t *testing.T) {
	needs.Programs(t, "python3")
	for page, commands := range map[string]int{"quick-start.md": 9, "first-role.md": 5, "first-tool.md": 4} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			p := packageFolderOver(t, "registry.npmjs.org:443", nil)
			r := newReader(t, p.dir)
			text := readPage(t, "docs/start/"+page)
			if n := strings.Count(text, "\n$ sallyport "); n < commands {
				t.Errorf("%s has %d commands, want %d or more", page, n, commands)
			}
			for section := range strings.SplitSeq(text, "\n## ") {
				title, text, _ := strings.Cut(section, "\n")
				t.Run(title, func(t *testing.T) {
					if strings.Contains(text, "$ sallyport import claude-code --yes") || strings.Contains(text, "$ sallyport lock") {
						needNPX(t)
						r.network = p.network
					}
					r.followSection(t, text)
				})
			}
		})
	}
}

// followSection writes the files of a section, and runs its transcripts, in the
// order in which they stand.
func (r *reader) followSection(t *testing.T, text string) {
	t.Helper()
	for _, at := range fenced.FindAllStringSubmatchIndex(text, -1) {
		language, body := text[at[2]:at[3]], text[at[4]:at[5]]
		file := pageFile.FindStringSubmatch(text[strings.LastIndex(text[:at[0]-1], "\n\n")+2 : at[1]])
		switch {
		case file != nil:
			if err := os.MkdirAll(filepath.Dir(filepath.Join(r.project, file[1])), 0o755); err != nil {
				t.Fatal(err)
			}
			place(t, r.project, file[1], r.localize(body))
		case language == "console":
			r.follow(t, body)
		}
	}
}
