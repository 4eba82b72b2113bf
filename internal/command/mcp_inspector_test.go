package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// The client with which these tests were written, and the version of Node that
// it needs.
const (
	inspectorPackage = "@modelcontextprotocol/inspector@2.12.0"
	nodePackage      = "node@22"
)

// needNPX skips a test that fetches a client from npm unless the environment
// requests it. When the environment requests it, a missing npx is a failure.
func needNPX(t *testing.T) {
	t.Helper()
	needs.NPM(t, "the MCP inspector")
	needs.Program(t, "npx")
}

// inspector runs the command line of the inspector in a folder and returns its
// output. refused is true when the tool answered with an error.
func inspector(t *testing.T, dir string, args ...string) (out string, refused bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "npx",
		append([]string{"-y", "-p", nodePackage, "-p", inspectorPackage, "mcp-inspector", "--cli"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MCP_CATALOG_PATH="+filepath.Join(t.TempDir(), "mcp.json"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); ok && strings.Contains(stderr.String(), "tool_is_error") {
		return stdout.String(), true
	}
	if err != nil {
		t.Fatalf("inspector %v: %v\n%s%s", args, err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String(), false
}

// TestInspector runs a published client. It lists the tools, reads a file, and
// is refused three calls, on both surfaces and in both generations of the
// protocol. Each call must be in the record, and the record must verify until
// one byte of it is edited.
func TestInspector(t *testing.T) {
	t.Parallel()
	needNPX(t)
	dir := folder(t)
	calls := 0
	for _, era := range []string{"legacy", "modern"} {
		t.Run("stdio/"+era, func(t *testing.T) {
			calls += inspect(t, dir, "--protocol-era", era, "sallyport", "serve", "--stdio")
		})
	}
	s := serveHTTP(t, dir)
	for _, era := range []string{"legacy", "modern"} {
		t.Run("http/"+era, func(t *testing.T) {
			calls += inspect(t, dir, "--protocol-era", era, s.url+"/mcp", "--transport", "http", "--header", "Authorization: Bearer "+s.token)
		})
	}
	s.stop(t)
	events := outcomes(t, dir)
	if len(events) != calls || calls != 16 {
		t.Errorf("audit tail holds %d calls, want the %d of the inspector", len(events), calls)
	}
	verifyFindsOneEditedByte(t, dir, events[len(events)/2].Seq)
}

// inspect makes the calls and returns their number.
func inspect(t *testing.T, dir string, server ...string) int {
	t.Helper()
	with := func(args ...string) []string { return append(append([]string{}, server...), args...) }
	if out, _ := inspector(t, dir, with("--method", "tools/list")...); !strings.Contains(out, `"name": "read_file"`) {
		t.Errorf("tools/list = %s, want read_file in it", out)
	}
	tests := []struct {
		path    string
		want    string
		refused bool
	}{
		{path: "README.md", want: "Hello, gate"},
		{path: "/etc/passwd", want: "PATH_NOT_REACHABLE: read not permitted for /etc/passwd", refused: true},
		{path: "link", want: "PATH_NOT_REACHABLE: ", refused: true},
		{path: "../x", want: "PATH_NOT_REACHABLE: ", refused: true},
	}
	for _, tt := range tests {
		out, refused := inspector(t, dir, with("--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path="+tt.path)...)
		if !strings.Contains(out, tt.want) || refused != tt.refused || strings.Contains(out, "root:") {
			t.Errorf("read_file %s = %s, refused %v, want %q, refused %v", tt.path, out, refused, tt.want, tt.refused)
		}
		last := outcomes(t, dir)
		if got := last[len(last)-1]; !strings.Contains(got.Args, tt.path) || got.OK == tt.refused || !strings.Contains(out, got.CallID) {
			t.Errorf("the last record is %+v, want the call of %s", got, tt.path)
		}
	}
	return len(tests)
}

// outcome is a record as `audit tail --json` prints it.
type outcome struct {
	Seq    uint64 `json:"seq"`
	Kind   string `json:"kind"`
	CallID string `json:"call_id"`
	Args   string `json:"args"`
	OK     bool   `json:"ok"`
}

// outcomes returns the outcomes in the record, oldest first.
func outcomes(t *testing.T, dir string) []outcome {
	t.Helper()
	var out []outcome
	for line := range strings.Lines(runSallyport(t, dir, "audit", "tail", "-n", "0", "--json")) {
		var o outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind == "outcome" {
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		t.Fatal("the record holds no outcome")
	}
	return out
}

func TestVerifyFindsOneEditedByte(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	for range 3 {
		runSallyport(t, dir, "call", "read_file", `{"path":"README.md"}`)
	}
	verifyFindsOneEditedByte(t, dir, outcomes(t, dir)[1].Seq)
}

// verifyFindsOneEditedByte edits one byte of a record. From then on verify must
// fail and name that record.
func verifyFindsOneEditedByte(t *testing.T, dir string, seq uint64) {
	t.Helper()
	runSallyport(t, dir, "audit", "verify")
	editSegment(t, dir, func(segment []byte) []byte {
		records, _ := splitRecords(segment)
		// The byte is the letter after the first p of "path" in the recorded
		// arguments.
		record := records[seq-1]
		record[bytes.Index(record, []byte("path"))+1] = 'A'
		return segment
	})
	out, err := sallyportCommand(dir, "audit", "verify").CombinedOutput()
	if exited, ok := errors.AsType[*exec.ExitError](err); !ok || exited.ExitCode() != exitFailed {
		t.Errorf("audit verify = %v, want exit %d", err, exitFailed)
	}
	if want := fmt.Sprintf("record %d ", seq); !strings.Contains(string(out), want) {
		t.Errorf("audit verify = %s, want %q in it", out, want)
	}
}
