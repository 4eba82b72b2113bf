package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	for page, commands := range map[string]int{"quick-start.md": 9, "first-role.md": 5} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			p := packageFolderOver(t, "registry.npmjs.org:443", nil)
			r := newReader(t, p.dir)
			var shown []string
			followSections(t, page, commands, func(t *testing.T, title, text string) {
				if strings.Contains(text, "$ sallyport import claude-code --yes") || strings.Contains(text, "$ sallyport lock") {
					needNPX(t)
					r.network = p.network
				}
				followSection(t, r.localize(text), func() string { return r.project }, func(transcript string) {
					if lines := r.follow(t, transcript); slices.Contains(recorded, title) {
						shown = append(shown, lines...)
					}
				})
			})
			if page == "quick-start.md" {
				saveRecording(t, r, shown)
			}
		})
	}
}

// TestFirstToolPage follows the page in a shell, beside a clone, with the go
// command. Its files are those of the example.
func TestFirstToolPage(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	needs.Programs(t, "bash", "python3")
	home := t.TempDir()
	clone, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(clone, filepath.Join(home, "sallyport")); err != nil {
		t.Fatal(err)
	}
	// What the go command has fetched and built lies in the home of the test.
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOPATH", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Split(string(out), "\n")
	sh := newShell(t, home, "HOME="+home, "GOWORK=off", "GOPATH="+folders[0], "GOCACHE="+folders[1], "GOMODCACHE="+folders[2])
	followShell(t, "first-tool.md", 12, sh, strings.NewReplacer(pageHome, home))
}

// TestFirstToolShowsTheFilesOfItsExample: what the page explains is what the
// example holds.
func TestFirstToolShowsTheFilesOfItsExample(t *testing.T) {
	t.Parallel()
	text, _, _ := strings.Cut(readPage(t, "docs/start/first-tool.md"), "\n## Without Go")
	files := pageFile.FindAllStringSubmatch(text, -1)
	for _, m := range files {
		if want := readPage(t, "examples/custom-tool/"+m[1]); m[2] != want {
			t.Errorf("the page has another %s than examples/custom-tool: copy one into the other", m[1])
		}
	}
	if len(files) != 3 {
		t.Errorf("the page has %d files, want main.go, main_test.go and sallyport.yaml", len(files))
	}
}

// followShell follows a page in a shell. The replacer puts what the machine has
// in the place of what the page shows.
func followShell(t *testing.T, page string, commands int, sh *shell, own *strings.Replacer) {
	t.Helper()
	followSections(t, page, commands, func(t *testing.T, _, text string) {
		followSection(t, own.Replace(text), func() string { return sh.folder }, func(transcript string) {
			followTranscript(t, transcript, func(command string) string { return sh.run(t, command) })
		})
	})
}

// followSections calls follow with each section of a page, in order. The page
// must have some number of commands.
func followSections(t *testing.T, page string, commands int, follow func(t *testing.T, title, text string)) {
	t.Helper()
	text := readPage(t, "docs/start/"+page)
	if n := strings.Count(text, "\n$ "); n < commands {
		t.Errorf("%s has %d commands, want %d or more", page, n, commands)
	}
	for section := range strings.SplitSeq(text, "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) { follow(t, title, text) })
	}
}

// followSection writes the files of a section, and runs its transcripts, in the
// order in which they stand.
func followSection(t *testing.T, text string, folder func() string, follow func(transcript string)) {
	t.Helper()
	for _, at := range fenced.FindAllStringSubmatchIndex(text, -1) {
		language, body := text[at[2]:at[3]], text[at[4]:at[5]]
		file := pageFile.FindStringSubmatch(text[strings.LastIndex(text[:at[0]-1], "\n\n")+2 : at[1]])
		switch {
		case file != nil:
			if err := os.MkdirAll(filepath.Dir(filepath.Join(folder(), file[1])), 0o755); err != nil {
				t.Fatal(err)
			}
			place(t, folder(), file[1], body)
		case language == "console":
			follow(body)
		}
	}
}
