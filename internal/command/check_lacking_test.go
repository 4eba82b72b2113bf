package command

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
)

// teamFolder returns a folder with the preset team, whose database is a file and
// whose relay listens at an address of this machine.
func teamFolder(t *testing.T, relay string) string {
	t.Helper()
	text, err := config.Preset("team")
	if err != nil {
		t.Fatal(err)
	}
	edited := string(text)
	for old, fresh := range map[string]string{
		"{driver: postgres, url_secret: db/analytics, mode: read}":         "{driver: sqlite, path: analytics.db}",
		"host: smtp.example.com:587":                                       "host: " + relay + "\n    tls: none",
		"    user_secret: mail/user\n    password_secret: mail/password\n": "",
	} {
		if !strings.Contains(edited, old) {
			t.Fatalf("the preset has no %q", old)
		}
		edited = strings.Replace(edited, old, fresh, 1)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, app.ConfigName), []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serveRelay answers like a mail relay until the end of the test.
func serveRelay(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "220 relay\r\n250 relay\r\n221 bye\r\n")
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func TestTheTeamPresetPassesCheckOnceItHasWhatItNames(t *testing.T) {
	t.Parallel()
	relay := serveRelay(t)
	dir := teamFolder(t, relay)
	out, code := runCheck(t, dir, "")
	wantLines(t, out,
		"lacking secret tickets/token: tool get-ticket: it is not set", "fix: sallyport secrets set tickets/token",
		"lacking database analytics: ", "at sallyport.yaml:")
	if strings.Contains(out, "lacking mail") || code != 1 {
		t.Errorf("check exits %d and prints\n%s\nwant 1 and nothing of the relay, which answers", code, out)
	}
	db, err := sqlite3.Open(filepath.Join(dir, "analytics.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec("create table visits (day text)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if out, code := runCheck(t, dir, "a-long-enough-token"); code != 0 || strings.Contains(out, "lacking") {
		t.Errorf("check with all of it exits %d and prints\n%s", code, out)
	}
	record := runSallyport(t, dir, "audit", "tail", "--json")
	if n := strings.Count(record, `"connection.try"`); n != 4 {
		t.Errorf("the record holds %d trials of connections, want two of each check:\n%s", n, record)
	}
}

func TestCheckNamesWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	dir := teamFolder(t, closed.Addr().String())
	out, code := runCheck(t, dir, "short")
	wantLines(t, out, "lacking mail default: ", "or start the relay "+closed.Addr().String(), "tickets/token is refused: its value has fewer than 8 bytes")
	if code != 1 {
		t.Errorf("check exits %d, want 1", code)
	}
}

// runCheck returns what check prints and its exit code, with a token for tickets.
func runCheck(t *testing.T, dir, token string) (string, int) {
	t.Helper()
	cmd := sallyportCommand(dir, "check")
	cmd.Env = append(cmd.Env, fmt.Sprintf("SALLYPORT_SECRET_TICKETS_TOKEN=%s", token))
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

func wantLines(t *testing.T, out string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("the answer lacks %q:\n%s", w, out)
		}
	}
}
