package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	// module is what the program is built from.
	module = "github.com/sallyport/sallyport"
	// startTime bounds how long the program may take to serve, endTime how long it
	// may take to end.
	startTime = time.Minute
	endTime   = 15 * time.Second
	// maxPrincipals bounds the principals of one gate: one for each run.
	maxPrincipals = 1000
)

// buildProgram builds the program of this checkout into a folder.
func buildProgram(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	path := filepath.Join(dir, "sallyport")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "./cmd/sallyport")
	cmd.Dir, cmd.Env = strings.TrimSpace(string(root)), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// gateProcess is a running `serve` with the server of a suite behind it.
type gateProcess struct {
	program, dir string
	server       *mountedServer
	client       *http.Client
	cmd          *exec.Cmd
	stderr       bytes.Buffer  // to be read after the end
	printed      chan struct{} // closed when standard output has ended
	url          string
	tokens       []string // of the principals, by number
}

// startGate writes the configuration of a suite with a role, pins its server and
// serves. The caller stops it.
func startGate(ctx context.Context, program, dir, suite string, w suiteWorld, role string, principals int) (g *gateProcess, err error) {
	if principals > maxPrincipals {
		return nil, fmt.Errorf("%d principals, want at most %d", principals, maxPrincipals)
	}
	g = &gateProcess{program: program, dir: dir, client: &http.Client{Transport: &http.Transport{}}}
	if g.server, err = startServer(w); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.stop())
		}
	}()
	for _, folder := range []string{dir, filepath.Join(dir, "home", "tmp")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	text := g.writeConfiguration(suite, w, role, principals)
	if err := os.WriteFile(filepath.Join(dir, "sallyport.yaml"), []byte(text), 0o600); err != nil {
		return nil, err
	}
	if out, err := g.command(ctx, "lock").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("sallyport lock: %w\n%s", err, out)
	}
	return g, g.serve(ctx)
}

// writeConfiguration returns the whole configuration. The server has a secret, as one
// with an account behind it has: what it reads counts as private.
func (g *gateProcess) writeConfiguration(suite string, w suiteWorld, role string, principals int) string {
	name := serverName(suite)
	var b strings.Builder
	fmt.Fprintf(&b, "version: 2\nstate: sqlite:state.db\nsecrets: [{env: BENCH_SECRET_}]\n")
	fmt.Fprintf(&b, "mcp_servers:\n  %s:\n    url: http://%s/mcp\n", name, g.server.address)
	fmt.Fprintf(&b, "    headers: {Authorization: {secret: suite/token, prefix: \"Bearer \"}}\n")
	fmt.Fprintf(&b, "    effects: %s\nprincipals:\n", declareEffects(w))
	for i := range principals {
		token := "sallyport_" + rand.Text() + rand.Text()
		g.tokens = append(g.tokens, token)
		sum := sha256.Sum256([]byte(token))
		fmt.Fprintf(&b, "  run-%d: {token_sha256: %q, personalities: [%s]}\n", i, hex.EncodeToString(sum[:]), name)
	}
	b.WriteString(role)
	fmt.Fprintf(&b, "    safety: {network: {allow_private: [%q]}}\n", g.server.address)
	return b.String()
}

// command returns a command of the program in the folder of the gate.
func (g *gateProcess) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, args...)
	cmd.Dir = g.dir
	home := filepath.Join(g.dir, "home")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "TMPDIR=" + filepath.Join(home, "tmp"),
		"BENCH_SECRET_SUITE_TOKEN=" + rand.Text(),
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	return cmd
}

// addressLine finds the address in what serve prints.
var addressLine = regexp.MustCompile(`sallyport serves (http://[^/]+)/mcp`)

// serve starts serve on a free port.
func (g *gateProcess) serve(ctx context.Context) error {
	g.cmd = g.command(ctx, "serve", "--listen", "127.0.0.1:0")
	g.cmd.Stderr = &g.stderr
	out, err := g.cmd.StdoutPipe()
	if err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		g.cmd = nil
		return err
	}
	found := make(chan string, 1)
	g.printed = make(chan struct{})
	go func() {
		defer close(g.printed)
		defer close(found)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := addressLine.FindStringSubmatch(lines.Text()); m != nil {
				found <- m[1] // it is printed once
			}
		}
	}()
	var ok bool
	select {
	case g.url, ok = <-found:
		if !ok {
			return errors.New("serve ended without an address")
		}
		return nil
	case <-time.After(startTime):
		return errors.New("serve did not print its address in time")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop ends the program and the server behind it.
func (g *gateProcess) stop() (err error) {
	g.client.CloseIdleConnections()
	if g.cmd != nil {
		_ = g.cmd.Process.Signal(syscall.SIGTERM)
		late := time.AfterFunc(endTime, func() { _ = g.cmd.Process.Kill() })
		<-g.printed
		if err = g.cmd.Wait(); err != nil {
			err = fmt.Errorf("serve: %w\n%s", err, g.stderr.Bytes())
		}
		late.Stop()
		g.cmd = nil
	}
	return errors.Join(err, g.server.close())
}
