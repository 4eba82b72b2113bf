package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestPromoteWritesConfigurationAndLock: what a pinned server may touch follows its
// declaration, and what it runs does not.
func TestPromoteWritesConfigurationAndLock(t *testing.T) {
	t.Parallel()
	p := newPinnedFolder(t, "echo", "Says it.")
	if err := os.Mkdir(filepath.Join(p.dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	before := p.read(app.ConfigName)
	wider := strings.Replace(before, `{read: from-personality}`, `{read: from-personality, write: ["${workspace}/out"]}`, 1)
	wider = strings.Replace(wider, `fs_reach: {read: ["${workspace}"]}`, `fs_reach: {read: ["${workspace}"], write: ["${workspace}/out"]}`, 1)
	p.write("new.yaml", wider)
	shown := p.run(2, "promote", "new.yaml")
	for _, want := range []string{app.LockName + "\n", `+           "write": [`, app.ConfigName + "\n", `+   notes: {command: [python3, ./server.py, ./tools.json], capabilities: {fs_reach: {read: from-personality, write:`} {
		if !strings.Contains(shown, want) {
			t.Errorf("promote shows no %q in\n%s", want, shown)
		}
	}
	p.run(0, "promote", "new.yaml", "--yes")
	p.works()
	p.says(0, "everything is as ", "", "diff")
	if p.read(app.ConfigName) != wider {
		t.Errorf("the configuration is\n%s", p.read(app.ConfigName))
	}

	// What starts another program, and a server that nothing pins, are held back.
	p.write("new.yaml", strings.Replace(strings.Replace(wider, "./tools.json]", "./tools.json, more]", 1), "\npersonalities:", "\n  late: {command: [python3, ./server.py, ./tools.json]}\npersonalities:", 1))
	p.says(2, "the MCP server late is not pinned, and is not started before: sallyport lock", "", "promote", "new.yaml")
	p.says(0, "the MCP server notes is not as it is pinned, and is not started before: sallyport lock accept notes", "", "promote", "new.yaml", "--yes")
	p.says(1, "notes", "everything is as", "diff")
	p.write("new.yaml", wider)
	p.says(0, "done", "is not started before", "promote", "new.yaml", "--yes")
	p.works()

	// What was widened by hand is accepted first: a promotion must not hide it.
	p.write(app.ConfigName, strings.Replace(wider, `write: ["${workspace}/out"]}}`, `write: ["${workspace}"]}}`, 1))
	p.write("new.yaml", strings.Replace(wider, `write: ["${workspace}/out"]}}`, `write: ["${workspace}", /usr]}}`, 1))
	p.says(2, "is not what is pinned: the server may write, or execute, something new. Look at it first: sallyport lock accept notes", "", "promote", "new.yaml", "--yes")
}

func (p *pinnedFolder) read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// answering is a terminal at which something happens before the answer.
type answering struct {
	io.Reader
	before func()
}

func (a *answering) Read(b []byte) (int, error) {
	a.before()
	return a.Reader.Read(b)
}

// TestPromoteRefusesWhatChangesBeforeTheYes: what is put in force is what was shown.
func TestPromoteRefusesWhatChangesBeforeTheYes(t *testing.T) {
	t.Parallel()
	old, next := "version: 2\npersonalities: {ops: {toolset: []}}\n", "version: 2\npersonalities: {ops: {toolset: [read_file]}}\n"
	for _, tt := range []struct {
		name   string
		file   string // that changes before the answer
		answer string
		code   int
		want   string
	}{
		{"no", "", "no\n", exitFailed, "nothing was changed"},
		{"nothing", "", "", exitFailed, "nothing was changed"},
		{"the new text", "new.yaml", "yes\n", exitFailed, "new.yaml is not what was shown: it has changed since"},
		{"the text in force", app.ConfigName, "yes\n", exitUsage, "was changed at the same time"},
		{"yes", "", "yes\n", exitDone, "put this in force? [y/N] "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := configured(t, old)
			place(t, dir, "new.yaml", next)
			env, out := inFolder(t, dir)
			var asked strings.Builder
			change := func() {
				if tt.file != "" {
					place(t, dir, tt.file, "version: 2\npersonalities: {ops: {toolset: [write_file]}}\n")
				}
			}
			env.Stderr, env.stdin, env.terminal = &asked, io.NopCloser(&answering{strings.NewReader(tt.answer), change}), true
			if code := runCommand(t.Context(), []string{"promote", "new.yaml"}, env); code != tt.code || !strings.Contains(asked.String(), tt.want) {
				t.Errorf("promote = %d, want %d with %q\n%s%s", code, tt.code, tt.want, out, &asked)
			}
			text, err := os.ReadFile(filepath.Join(dir, app.ConfigName))
			if err != nil || (string(text) == next) != (tt.code == exitDone) {
				t.Errorf("the configuration is %q, %v", text, err)
			}
		})
	}
}
