package command

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/app"
)

// A permission that a reload withdraws is gone at once, also for a caller
// without a token.
func TestReloadTakesPermissionsFromEverybody(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	path := filepath.Join(dir, app.ConfigName)
	write := func(permissions string) {
		t.Helper()
		text := "version: 1\nsecurity: {require_auth: false, default_permissions: [" + permissions + "]}\n" +
			"personalities: {default: {fs_reach: {read: [\"${workspace}\"]}}}\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("file:read")
	s := serveHTTP(t, dir)
	call := func() int {
		status, _ := s.request(t, "POST", "/v1/actions/file-read/execute", `{"params":{"path":"README.md"}}`, s.headers("Authorization", "", "Accept", ""))
		return status
	}
	if status := call(); status != 200 {
		t.Fatalf("with the permission: status %d, want 200", status)
	}
	write("")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for status := call(); status != 403; status = call() {
		if ctx.Err() != nil {
			s.stop(t)
			t.Fatalf("after the permission was taken away: status %d, want 403\n%s", status, s.stderr.Bytes())
		}
		pause := time.NewTimer(testPause / 5)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	s.stop(t)
}

// TestReloadsAreRecorded finds the fingerprints of the configuration that came
// into force and of the one that was refused.
func TestReloadsAreRecorded(t *testing.T) {
	t.Parallel()
	dir, text, _ := reloadFolder(t)
	s := serveWatched(t, dir)
	good, bad := text+"# changed\n", text+"nonsense: true\n"
	s.change(t, dir, good, inForce)
	s.change(t, dir, bad, rejected)
	s.stop(t)
	place(t, dir, app.ConfigName, good)
	fingerprint := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	var got []string
	for _, r := range records(t, dir) {
		if r.Kind == "change" {
			got = append(got, r.Change.Action+" "+r.Change.Target+" "+r.Error)
		}
	}
	want := "configuration.reload " + fingerprint(good) + " \nconfiguration.reload " + fingerprint(bad) + " the last good configuration stays in force"
	if strings.Join(got, "\n") != want {
		t.Errorf("recorded changes =\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// TestAConfigurationThatCannotBeReadIsSaid removes the file. An operator who
// revokes a principal in an unreadable file has to learn that the change had no
// effect.
func TestAConfigurationThatCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	dir, text, _ := reloadFolder(t)
	s := serveWatched(t, dir)
	from := s.told.len()
	if err := os.Remove(filepath.Join(dir, app.ConfigName)); err != nil {
		t.Fatal(err)
	}
	s.told.await(t, from, rejected)
	s.told.await(t, from, "cannot be read")
	from = s.told.len()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.told.await(t, from, "cannot be read")
	s.wants(t, tokenOf("reader"), "get-weather", `{"location":"Paris"}`, 200)
	s.change(t, dir, text, inForce)
	s.stop(t)
}

// TestReloadTakesPermissionsFromAClientOnAPipe starts the server from the
// client, over stdio. The client calls before and after a change.
func TestReloadTakesPermissionsFromAClientOnAPipe(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	text := func(permissions string) string {
		return "version: 1\nsecurity: {default_permissions: [" + permissions + "]}\n" +
			"personalities: {default: {fs_reach: {read: [\"${workspace}\"]}}}\n"
	}
	place(t, dir, app.ConfigName, text("file:read"))
	cmd, stderr := sallyportCommand(dir, "serve", "--stdio"), newTold()
	cmd.Stderr = stderr
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
	ask := func(message string) string {
		t.Helper()
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			// A notification in between says that the lists have changed.
			if !strings.Contains(lines.Text(), `"notifications/`) {
				return lines.Text()
			}
		}
		t.Fatalf("no answer to %s: %v", message, lines.Err())
		return ""
	}
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"file-read","arguments":{"path":"README.md"}}}`
	ask(initialize)
	if answer := ask(call); !strings.Contains(answer, "Hello, gate") {
		t.Errorf("with the permission: %s, want the file", answer)
	}
	place(t, dir, app.ConfigName, text(""))
	stderr.await(t, 0, inForce)
	if answer := ask(call); !strings.Contains(answer, "Permission denied: file-read requires file:read") {
		t.Errorf("after the permission was taken away: %s, want a refusal", answer)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Errorf("serve --stdio ended with %v:\n%s", err, stderr.await(t, 0, ""))
	}
}
