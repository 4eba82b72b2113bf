package command

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// folder creates a workspace with a file to read, a link that leads out, and
// the configuration that init writes.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Hello, gate\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	runSallyport(t, dir, "init")
	return dir
}

// sallyportCommand returns the command that runs the program in a folder.
// TestMain puts the program on PATH.
func sallyportCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("sallyport", args...)
	cmd.Dir = dir
	cmd.Env = variablesIn(dir)
	return cmd
}

// variablesIn returns the variables of a program whose home is in a folder.
func variablesIn(dir string) []string {
	return append(os.Environ(), "HOME="+filepath.Join(dir, "home"))
}

// runSallyport runs a command in the process of the test, which must succeed, and
// returns its standard output.
func runSallyport(t testing.TB, dir string, args ...string) string {
	t.Helper()
	var stdout bytes.Buffer
	stderr := newTold()
	if code := runHere(t.Context(), dir, variablesIn(dir), &stdout, stderr, args...); code != exitDone {
		t.Fatalf("sallyport %v: exit code %d\n%s%s", args, code, stdout.Bytes(), stderr.await(t, 0, ""))
	}
	return stdout.String()
}

// service is a running `serve`.
type service struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer // to be read after wait
	banner string
	url    string // without a path
	token  string // "" when none was printed
}

// wait waits for the end of the service and returns its exit code.
func (s *service) wait(t testing.TB) int {
	t.Helper()
	err := s.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// stop asks the service to end and requires exit code 0.
func (s *service) stop(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != 0 {
		t.Errorf("serve exited %d after SIGTERM, want 0:\n%s", code, s.stderr.Bytes())
	}
}

var (
	addressLine = regexp.MustCompile(`sallyport serves (https?://[^/]+)/mcp`)
	tokenLine   = regexp.MustCompile(`token +(sallyport_[A-Za-z0-9_-]+)`)
)

// serveHTTP starts `serve` on a free port and reads what it prints.
func serveHTTP(t testing.TB, dir string, args ...string) *service {
	t.Helper()
	s := &service{cmd: sallyportCommand(dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
	})
	var banner strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&banner, lines.Text())
		// The last paragraph that serve prints lists what is enforced.
		if strings.Contains(lines.Text(), "audit tail") {
			break
		}
	}
	// serve prints nothing after it that a full pipe could block.
	s.banner = banner.String()
	if m := addressLine.FindStringSubmatch(s.banner); m != nil {
		s.url = m[1]
	} else {
		_ = s.cmd.Wait()
		t.Fatalf("serve printed no address:\n%s%s", s.banner, s.stderr.Bytes())
	}
	if m := tokenLine.FindStringSubmatch(s.banner); m != nil {
		s.token = m[1]
	}
	return s
}

// request sends one request and returns the status and the body.
func (s *service) request(t testing.TB, method, path, body string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
			continue
		}
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if method == http.MethodGet && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return res.StatusCode, "" // events without an end
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// headers returns the headers of a valid request with changes; an empty value
// removes a header.
func (s *service) headers(changes ...string) map[string]string {
	h := map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + s.token,
	}
	for i := 0; i < len(changes); i += 2 {
		if h[changes[i]] = changes[i+1]; changes[i+1] == "" {
			delete(h, changes[i])
		}
	}
	return h
}
