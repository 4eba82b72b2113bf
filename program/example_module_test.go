package program_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// examples is the folder of the example modules, and repository that of this
// one.
const (
	examples   = "../examples"
	repository = ".."
)

// arguments is those of a call of the example, and withoutSecret the answer of a
// program that has no token: no call leaves this machine.
const (
	arguments     = `{"repository":"golang/go"}`
	withoutSecret = "secret providers/github/token not found"
)

// goCommand runs the go command in a folder. It may write go.mod there: the
// module follows those that this one requires.
func goCommand(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s\nif modules have changed: run go mod tidy in the folder of the module", strings.Join(args, " "), err, out)
	}
}

// buildOutside copies a module of this repository to a folder outside of it and
// builds it. It returns the folder and the program.
func buildOutside(t *testing.T, from string) (dir, binary string) {
	t.Helper()
	name := filepath.Base(from)
	dir = filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	goCommand(t, dir, "mod", "edit", "-replace", "github.com/sallyport/sallyport="+module)
	binary = filepath.Join(dir, name)
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	goCommand(t, dir, "build", "-o", binary, ".")
	return dir, binary
}

func TestTheExampleIsAWholeProgram(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir, binary := buildOutside(t, examples+"/custom-tool")
	for _, tt := range []struct {
		name string
		args []string
		want string
		code int
	}{
		{"tools", []string{"tools"}, "open_issues", 0},
		{"a call without its secret", []string{"call", "open_issues", arguments}, withoutSecret + "\n", 1},
		{"check", []string{"check"}, "lacking secret providers/github/token", 1},
		{"a fix names the program", []string{"check"}, "fix: " + binary + " secrets set providers/github/token", 1},
		{"explain", []string{"explain", "open_issues"}, "open_issues for personality default", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), binary, tt.args...)
			cmd.Dir = dir
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.Contains(string(out), tt.want) {
				t.Errorf("exit code %d (%v), want %d; output %q, want a text with %q; standard error %q", code, err, tt.code, out, tt.want, stderr.String())
			}
		})
	}
	t.Run("its own test", func(t *testing.T) {
		t.Parallel()
		goCommand(t, dir, "test", "-count=1", ".")
	})
	t.Run("mcp", func(t *testing.T) {
		t.Parallel()
		callOverMCP(t, dir, binary)
	})
}

func TestTheExampleOfTheLibraryRuns(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir, binary := buildOutside(t, examples+"/embed")
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if want := "6 words\nPATH_NOT_REACHABLE: read not permitted for /etc/hostname\n"; err != nil || string(out) != want {
		t.Errorf("it ended with %v and %q, want %q", err, out, want)
	}
}

// callOverMCP calls the own tool of the example as an MCP client does that
// starts the program.
func callOverMCP(t *testing.T, dir, binary string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, "serve", "--stdio")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	send := func(message string) {
		if _, err := in.Write([]byte(message + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	// ask sends a request and returns the text of its answer.
	ask := func(id, message string) string {
		send(message)
		for lines.Scan() {
			var answer struct {
				ID json.RawMessage `json:"id"`
			}
			if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
				t.Fatalf("%q: %v", lines.Text(), err)
			}
			if string(answer.ID) == id {
				return lines.Text()
			}
		}
		t.Fatalf("no answer to %s: %v", message, lines.Err())
		return ""
	}
	ask("1", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if answer := ask("2", `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`); !strings.Contains(answer, `"open_issues"`) {
		t.Errorf("tools/list = %s, want open_issues in it", answer)
	}
	if answer := ask("3", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"open_issues","arguments":`+arguments+`}}`); !strings.Contains(answer, withoutSecret) {
		t.Errorf("tools/call = %s, want %s", answer, withoutSecret)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
