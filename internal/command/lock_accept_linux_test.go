package command

import (
	"io"
	"strings"
	"testing"
)

// TestLockAcceptAsks shows the change of a tool at a terminal. Only a yes pins it.
func TestLockAcceptAsks(t *testing.T) {
	t.Parallel()
	p := newPinnedFolder(t, "echo", "Says it.")
	p.write("tools.json", definitions(t, "echo", "Says it loudly."))
	for _, tt := range []struct {
		answer, says string
		code         int
	}{
		{"\n", "nothing was pinned", exitFailed},
		{"no\n", "nothing was pinned", exitFailed},
		{"", "nothing was pinned", exitFailed},
		{"y\n", "pinned notes as it is: 1 change", exitDone},
		{"", "everything is as ", exitDone},
	} {
		env, out := inFolder(t, p.dir)
		var asked strings.Builder
		env.Stderr, env.stdin, env.terminal = &asked, io.NopCloser(strings.NewReader(tt.answer)), true
		code := runCommand(t.Context(), []string{"lock", "accept", "notes"}, env)
		said := out.String() + asked.String()
		if code != tt.code || !strings.Contains(said, tt.says) {
			t.Errorf("answer %q = %d\n%s\nwant %d and %q", tt.answer, code, said, tt.code, tt.says)
		}
		if tt.code == exitFailed && (!strings.Contains(said, "Says it loudly.") || !strings.Contains(said, "pin notes as it is shown? [y/N]")) {
			t.Errorf("%s\nwant the change and a question", said)
		}
	}
	p.works()
}
