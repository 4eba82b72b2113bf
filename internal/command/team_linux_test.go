package command

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sallyport/sallyport/internal/needs"
)

// The secrets that the page shows.
const (
	pageDatabase     = "postgres://reporter:PASSWORD@db.octocorp.example/analytics"
	pageTicketsToken = "a-token-of-the-desk"
	pageMailUser     = "agents@octocorp.example"
	pageMailPassword = "correct horse battery"
)

// TestTeamPage follows the page of a team in a shell, from an empty home, with a
// PostgreSQL, a help desk that speaks https and a mail relay. What the page names
// of them stands for what this machine has.
func TestTeamPage(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash", "curl", "sed")
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "gate"), 0o755); err != nil {
		t.Fatal(err)
	}
	desk := newTicketDesk(t)
	relay := newTeamRelay(t, desk.TLS.Certificates)
	// The gate trusts the certificate of the desk and the relay as if it were one
	// of the system's.
	roots := filepath.Join(home, "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: desk.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(desk.URL, "https://")
	sh := newShell(t, filepath.Join(home, "gate"), "HOME="+home, "SSL_CERT_FILE="+roots)
	followShell(t, "team.md", 25, sh, strings.NewReplacer(
		"/home/ada", home,
		pageDatabase, newTeamDatabase(t),
		"tickets.octocorp.example", address, "10.0.0.8:443", address,
		"smtp.octocorp.example:587", relay.address,
		"127.0.0.1:7331", freeAddress(t),
	))
	relay.mu.Lock()
	defer relay.mu.Unlock()
	if len(relay.texts) != 1 || !strings.Contains(relay.texts[0], "Ticket 42 is solved") {
		t.Errorf("the relay has the mails %q, want the one that a person approved", relay.texts)
	}
}

// freeAddress returns an address of this machine on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// newTeamDatabase makes a schema with a table, and an account that may read it
// and write to it. It returns the URL of the account.
func newTeamDatabase(t *testing.T) string {
	t.Helper()
	host := os.Getenv("SALLYPORT_TEST_POSTGRES")
	if host == "" {
		host = "127.0.0.1:5432"
	}
	admin, err := pgconn.Connect(t.Context(), "postgres://postgres@"+host+"/postgres?sslmode=disable")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatalf("PostgreSQL at %s: %v", host, err)
	case err != nil:
		t.Skipf("PostgreSQL at %s: %v", host, err)
	}
	const password = "a-password-of-the-test"
	name := fmt.Sprintf("team_%d", os.Getpid())
	run := func(statements string) {
		if _, err := admin.Exec(t.Context(), statements).ReadAll(); err != nil {
			t.Errorf("%s: %v", statements, err)
		}
	}
	run(`CREATE ROLE ` + name + ` LOGIN PASSWORD '` + password + `'; CREATE SCHEMA ` + name + `;
		CREATE TABLE ` + name + `.visits (day date, visitors int); INSERT INTO ` + name + `.visits VALUES ('2026-11-20', 12), ('2026-11-21', 30);
		GRANT USAGE ON SCHEMA ` + name + ` TO ` + name + `; GRANT ALL ON ` + name + `.visits TO ` + name)
	t.Cleanup(func() {
		_, err := admin.Exec(context.Background(), "DROP SCHEMA "+name+" CASCADE; DROP ROLE "+name).ReadAll()
		if err = errors.Join(err, admin.Close(context.Background())); err != nil {
			t.Errorf("the schema %s stays: %v", name, err)
		}
	})
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(name, password), Host: host, Path: "/postgres",
		RawQuery: "sslmode=disable&search_path=" + name,
	}
	return u.String()
}

// newTicketDesk serves one ticket over https to whom has the token.
func newTicketDesk(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+pageTicketsToken:
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/api/tickets/42":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":42,"title":"The printer is on fire"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// teamRelay is a mail relay that asks for a password and keeps what it is sent.
type teamRelay struct {
	address string
	mu      sync.Mutex
	texts   []string
}

func newTeamRelay(t *testing.T, certificates []tls.Certificate) *teamRelay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &teamRelay{address: l.Addr().String()}
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &relaySession{relay: r}, nil }))
	s.TLSConfig, s.ErrorLog = &tls.Config{Certificates: certificates}, log.New(io.Discard, "", 0)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		_ = s.Close()
		_ = l.Close() // Close does not know a listener that is not served yet.
		serving.Wait()
	})
	return r
}

// relaySession is one connection at the relay.
type relaySession struct {
	relay *teamRelay
	known bool
}

func (s *relaySession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *relaySession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, name, password string) error {
		if s.known = name == pageMailUser && password == pageMailPassword; !s.known {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (s *relaySession) Mail(string, *smtp.MailOptions) error {
	if !s.known {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *relaySession) Rcpt(string, *smtp.RcptOptions) error { return nil }

func (s *relaySession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	s.relay.mu.Lock()
	defer s.relay.mu.Unlock()
	s.relay.texts = append(s.relay.texts, string(text))
	return err
}

func (s *relaySession) Reset()        {}
func (s *relaySession) Logout() error { return nil }
