package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// trayServer is a child that carries out one line of a shell after the other and
// says so.
type trayServer struct {
	*workplace
	ask   io.WriteCloser
	lines *bufio.Scanner
	child sallyport.Child
}

// serveTray starts a child that carries out lines in the folder of the place.
func (w *workplace) serveTray() *trayServer {
	w.t.Helper()
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	c := w.start(w.t.Context(), sallyport.SpawnOptions{Dir: w.dir, Input: in, Output: out, ErrorOutput: io.Discard},
		"sh", "-c", `while read -r line; do eval "$line"; echo done; done`)
	return &trayServer{w, ask, bufio.NewScanner(answers), c}
}

// runLine has the server carry out a line, and waits for its answer.
func (s *trayServer) runLine(line string) {
	s.t.Helper()
	if _, err := fmt.Fprintln(s.ask, line); err != nil {
		s.t.Fatal(err)
	}
	if !s.lines.Scan() || s.lines.Text() != "done" {
		s.t.Fatalf("answer = %q, %v", s.lines.Text(), s.lines.Err())
	}
}

// readHost returns what is on the host under a name, or that nothing is.
func (s *trayServer) readHost(name string) string {
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return "nothing"
	}
	return string(data)
}

func (s *trayServer) end() sallyport.ProcessResult {
	s.t.Helper()
	if err := s.ask.Close(); err != nil {
		s.t.Fatal(err)
	}
	return s.wait(s.child)
}

// A server lives for hours: what it wrote is on the host when its answer is read.
func TestAServersFileIsThereWithItsAnswer(t *testing.T) {
	t.Parallel()
	s := trayPlace(t, Limits{}, []string{"memory.json"}, []string{"memory.json"}).serveTray()
	for i, tt := range []struct{ line, want string }{
		{"echo one >memory.json", "one\n"},
		{"echo two >memory.json", "two\n"}, // as long, in the same moment
		{"echo six >.t; mv .t memory.json", "six\n"},
		{"rm memory.json", "nothing"},
		{"echo new >memory.json", "new\n"},
		{"chmod 600 memory.json; cat memory.json >.t; cat .t .t >memory.json", "new\nnew\n"},
	} {
		s.runLine(tt.line)
		if got := s.readHost("memory.json"); got != tt.want {
			t.Errorf("after %d lines there is %q, want %q", i+1, got, tt.want)
		}
	}
	if res := s.end(); s.changeOf(res, "memory.json") != "added true" {
		t.Errorf("changes = %+v", res.Changes)
	}
	if info, err := os.Stat(filepath.Join(s.dir, "memory.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v, want mode 600", info, err)
	}
}

// A server that says nothing has its file on the host, too.
func TestASilentServersFileIsThere(t *testing.T) {
	t.Parallel()
	s := trayPlace(t, Limits{}, nil, []string{"new.md"}).serveTray()
	if _, err := fmt.Fprintln(s.ask, "echo a >new.md; read -r _"); err != nil {
		t.Fatal(err)
	}
	for s.readHost("new.md") != "a\n" {
		time.Sleep(10 * time.Millisecond) // The test's deadline ends it.
	}
	s.child.Stop(0)
}

func TestTheHostWinsTheNameOfATray(t *testing.T) {
	t.Parallel()
	kept := func(s *trayServer) (texts []string) {
		for name, text := range contents(s.t, s.dir) {
			if strings.HasPrefix(name, ".sallyport-") {
				texts = append(texts, text)
			}
		}
		return texts
	}
	t.Run("made at the same time", func(t *testing.T) {
		s := trayPlace(t, Limits{}, nil, []string{"new.md"}).serveTray()
		s.write("new.md", "host\n")
		s.runLine("echo child >new.md")
		s.runLine("echo again >new.md")
		res := s.end()
		if got := s.readHost("new.md"); got != "host\n" {
			t.Errorf("the host's file is %q", got)
		}
		if got := kept(s); !slices.Equal(got, []string{"again\n"}) {
			t.Errorf("kept = %q, want the child's last", got)
		}
		if got := s.changeOf(res, "new.md"); !strings.HasPrefix(got, "added false STALE_WRITE") || !strings.Contains(got, ".sallyport-kept-") {
			t.Errorf("the result says %q", got)
		}
	})
	t.Run("changed at the same time", func(t *testing.T) {
		s := trayPlace(t, Limits{}, nil, []string{"new.md"}).serveTray()
		s.runLine("echo child >new.md")
		s.write("new.md", "host\n")
		s.runLine("echo again >new.md")
		s.runLine("rm new.md")
		s.end()
		if got, extra := s.readHost("new.md"), kept(s); got != "host\n" || len(extra) > 0 {
			t.Errorf("the host's file is %q, kept %q", got, extra)
		}
	})
	t.Run("removed at the same time", func(t *testing.T) {
		s := trayPlace(t, Limits{}, nil, []string{"new.md"}).serveTray()
		s.runLine("echo child >new.md")
		if err := os.Remove(filepath.Join(s.dir, "new.md")); err != nil {
			t.Fatal(err)
		}
		s.runLine("echo again >new.md")
		s.end()
		if got, extra := s.readHost("new.md"), kept(s); got != "again\n" || len(extra) > 0 {
			t.Errorf("the host's file is %q, kept %q", got, extra)
		}
	})
}
