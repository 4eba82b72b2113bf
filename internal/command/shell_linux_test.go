package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// shell is a running bash in which commands of a page follow each other, as in
// a terminal: a folder, a variable and a server in the background stay.
type shell struct {
	in  io.Writer
	out *bufio.Reader
	// folder is the one in which the next command runs.
	folder string
	// held is the id of the last held call that a command has listed.
	held string
}

// heldID matches the id of a held call where it is listed.
var heldID = regexp.MustCompile(`(?m)^([0-9a-z]{24})  pending`)

// newShell starts a shell in a folder, with variables beside those of the test.
func newShell(t *testing.T, folder string, env ...string) *shell {
	t.Helper()
	// The shell outlives the context of the test, so that it can end what runs in
	// its background.
	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Both outputs are one, in the order in which they are written.
	out, inside, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = inside, inside
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = inside.Close()
	t.Cleanup(func() {
		// The shell ends with its input, after what runs in its background.
		_, _ = io.WriteString(in, "kill $(jobs -p) 2>/dev/null; wait\n")
		_ = in.Close()
		_ = cmd.Wait()
		_ = out.Close()
	})
	return &shell{in: in, out: bufio.NewReader(out), folder: folder}
}

// run runs a command and returns what it prints. The id of the last held call
// stands in the place of the one that pages show.
func (s *shell) run(t *testing.T, command string) string {
	t.Helper()
	const mark = "\x1eend "
	if _, err := fmt.Fprintf(s.in, "{ %s\n} </dev/null\nprintf '%s%%s\\n' \"$PWD\"\n", strings.ReplaceAll(command, pageHeld, s.held), mark); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if before, folder, ok := strings.Cut(line, mark); ok {
			s.folder = strings.TrimSuffix(folder, "\n")
			text.WriteString(before)
			if m := heldID.FindStringSubmatch(text.String()); m != nil {
				s.held = m[1]
			}
			return text.String()
		}
		text.WriteString(line)
		if err != nil {
			t.Fatalf("%s: the shell ended (%v) after\n%s", command, err, text.String())
		}
	}
}
