package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestLockAcceptAsksAboutPrograms shows a program of secrets at a terminal. Only a yes
// lets it run.
func TestLockAcceptAsksAboutPrograms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(t.TempDir(), "keeper")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho value-of-the-keeper\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, dir, app.ConfigName, "version: 1\nsecrets: [{exec: ["+program+"]}]\ndatabases: {d: {driver: postgres, url_secret: db/d}}\n")
	for _, tt := range []struct {
		answer, says, then string
		code               int
	}{
		{"\n", "nothing was accepted", "not accepted it", exitFailed},
		{"no\n", "nothing was accepted", "not accepted it", exitFailed},
		{"y\n", "may run as it is", "found", exitDone},
		{"", "", "found", exitDone},
	} {
		env, out := inFolder(t, dir)
		var asked strings.Builder
		env.Stderr, env.stdin, env.terminal = &asked, io.NopCloser(strings.NewReader(tt.answer)), true
		code := runCommand(t.Context(), []string{"lock", "accept"}, env)
		said := out.String() + asked.String()
		if code != tt.code || !strings.Contains(said, tt.says) || tt.answer != "" && !strings.Contains(said, "let it run as it is shown? [y/N]") {
			t.Errorf("answer %q = %d\n%s\nwant %d and %q", tt.answer, code, said, tt.code, tt.says)
		}
		env, out = inFolder(t, dir)
		if runCommand(t.Context(), []string{"secrets", "ls"}, env); !strings.Contains(out.String(), tt.then) {
			t.Errorf("after %q secrets ls prints\n%s\nwant %q", tt.answer, out, tt.then)
		}
	}
}
