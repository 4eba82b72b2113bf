package upstream_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
)

// logLines passes each line of a log on.
type logLines chan string

func (l logLines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestWhatAServerWroteBesideANewFileIsLogged ends a process that left files beside one
// that is granted: the log names those that are lost, and no others.
func TestWhatAServerWroteBesideANewFileIsLogged(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.left = []sallyport.Change{
		{Path: "/w/new.md", Kind: sallyport.ChangeAdded, Committed: true},
		{Path: "/w/held.md", Kind: sallyport.ChangeAdded, Why: "on the always-deny floor"},
		{Path: "/w/s3cr3t-value.bak", Kind: sallyport.ChangeAdded, Why: "not granted", NotGranted: true},
	}
	lines := make(logLines, 100)
	// Discovery ends its process.
	scripted(t, s, &upstream.Options{Logger: slog.New(slog.NewTextHandler(lines, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	said := <-lines
	for _, want := range []string{`msg="what an MCP server wrote is lost" server=test path=`, ".bak", `why="not granted"`} {
		if !strings.Contains(said, want) || strings.Contains(said, "s3cr3t") {
			t.Errorf("the log says %q, want %q in it and no secret", said, want)
		}
	}
}
