package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// fenced matches a fenced block and captures its language and its lines.
var fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$")

// block returns the first fenced block of a language in a page.
func block(t *testing.T, page, language string) string {
	t.Helper()
	for _, m := range fenced.FindAllStringSubmatch(readPage(t, page), -1) {
		if m[1] == language {
			return m[2]
		}
	}
	t.Fatalf("%s has no %s block", page, language)
	return ""
}

// readPage reads a page by its path from the root of the repository.
func readPage(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReadmeProgramRuns(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(block(t, "README.md", "go")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", path).CombinedOutput()
	if err != nil || string(out) != "Hello, Ada\n" {
		t.Errorf("the program of README.md printed %q (%v), want %q", out, err, "Hello, Ada\n")
	}
}

// pageHome and pageProject are the folders that pages show, and pageHeld the id
// of a held call.
const (
	pageHome    = "/home/ada"
	pageProject = pageHome + "/project"
	pageHeld    = "06gzxm32y72hrzs8a5bgxf07"
)

// reader runs the commands of a page in a project folder.
type reader struct {
	home, project string
	network       *sallyport.NetworkBackend
}

// newReader makes a home and in it a project with a README.md.
func newReader(t *testing.T, home string) *reader {
	t.Helper()
	r := &reader{home: home, project: filepath.Join(home, "project")}
	if err := os.Mkdir(r.project, 0o755); err != nil {
		t.Fatal(err)
	}
	place(t, r.project, "README.md", "# Hello\n")
	return r
}

// localize puts the reader's folders in the place of those of the page.
func (r *reader) localize(text string) string {
	return strings.ReplaceAll(text, pageHome, r.home)
}

// follow runs each command of a transcript as the program would be run, and
// returns what followTranscript does.
func (r *reader) follow(t *testing.T, transcript string) (shown []string) {
	t.Helper()
	return followTranscript(t, r.localize(transcript), func(command string) string {
		args, ok := strings.CutPrefix(command, "sallyport ")
		if !ok {
			t.Fatalf("%q is no command of the program", command)
		}
		return r.run(t, args)
	})
}

// followTranscript runs each command of a transcript and searches its output for
// the lines that follow it, in their order. A line "..." stands for any lines,
// and "…" in a line for any text. A command goes on after a backslash at the end
// of its line. It returns the lines as they are printed.
func followTranscript(t *testing.T, transcript string, run func(command string) string) (shown []string) {
	t.Helper()
	var command, rest string
	for line := range strings.Lines(strings.ReplaceAll(transcript, "\\\n", "")) {
		line = strings.TrimSuffix(line, "\n")
		next, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			command, rest = next, run(next)
			t.Logf("$ %s\n%s", command, rest)
		case line == "..." || line == "":
		default:
			at := linePattern(line).FindStringIndex(rest)
			if at == nil {
				t.Errorf("%s: the page has %q; the rest of the answer is:\n%s", command, line, rest)
				continue
			}
			line, rest = rest[at[0]:at[1]], rest[at[1]:]
		}
		shown = append(shown, line)
	}
	return shown
}

// linePattern matches the line that a line of a page stands for: "…" is any text,
// and the id of a held call any such id.
func linePattern(line string) *regexp.Regexp {
	pattern := strings.NewReplacer("…", ".*", pageHeld, "[0-9a-z]{24}").Replace(regexp.QuoteMeta(line))
	return regexp.MustCompile("(?m)^" + pattern + "$")
}

// run runs one command line and returns what it prints. Words in single quotes
// are one word, and a pipe to tail is ignored.
func (r *reader) run(t *testing.T, line string) string {
	t.Helper()
	line, _, _ = strings.Cut(line, " | ")
	var args []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
			continue
		}
		args = append(args, strings.Fields(part)...)
	}
	var out bytes.Buffer
	env := &environment{
		stdin: io.NopCloser(strings.NewReader("")), stdout: nopCloser{&out}, Environment: app.Environment{
			Stderr: &out, Dir: r.project, Home: r.home, Network: r.network,
			Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
		},
	}
	runCommand(context.WithoutCancel(t.Context()), args, env)
	return out.String()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
