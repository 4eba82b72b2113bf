package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// block returns the first fenced block of a language in the README.
func block(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```"+language+"\n")
	body, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("README.md has no %s block", language)
	}
	return body
}

func TestReadmeProgramRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(block(t, "go")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", path).CombinedOutput()
	if err != nil || string(out) != "Hello, Ada\n" {
		t.Errorf("the program of README.md printed %q (%v), want %q", out, err, "Hello, Ada\n")
	}
}

// TestReadmeTranscript runs each command of the transcript and searches its
// output for the lines that follow it. A line "..." stands for any lines.
func TestReadmeTranscript(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Sallyport\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out string
	for line := range strings.Lines(block(t, "console")) {
		line = strings.TrimSuffix(line, "\n")
		command, isCommand := strings.CutPrefix(line, "$ sallyport ")
		switch {
		case isCommand:
			out = transcript(t, dir, command)
		case line == "...":
		default:
			want := strings.ReplaceAll(line, "/work/", dir+"/")
			if !strings.Contains(out, want+"\n") {
				t.Errorf("the transcript of README.md has %q; the answer was:\n%s", want, out)
			}
		}
	}
}

// transcript runs one command line of the README. Words in single quotes are
// one word, and a pipe to tail is ignored.
func transcript(t *testing.T, dir, line string) string {
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
		stdin: io.NopCloser(strings.NewReader("")), stdout: nopCloser{&out}, stderr: io.Discard,
		lookup: func(string) (string, bool) { return "", false }, pairs: func() []string { return nil },
		dir: dir, home: dir,
	}
	runCommand(context.WithoutCancel(t.Context()), args, env)
	return out.String()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
