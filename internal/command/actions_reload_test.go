package command

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
)

const (
	inForce  = "the configuration has changed and is in force"
	rejected = "the configuration has changed and is not in force"
)

// watched is a service with a standard error in which a test can wait for a
// text.
type watched struct {
	service
	told *told
}

// serveWatched starts `serve` as [serveHTTP] does.
func serveWatched(t testing.TB, dir string, args ...string) *watched {
	t.Helper()
	s := &watched{told: newTold()}
	s.cmd = sallyportCommand(dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	s.cmd.Stderr = s.told
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
	for lines := bufio.NewScanner(out); lines.Scan(); {
		s.banner += lines.Text() + "\n"
		if strings.Contains(lines.Text(), "audit tail") {
			break
		}
	}
	m := addressLine.FindStringSubmatch(s.banner)
	if m == nil {
		t.Fatalf("serve printed no address:\n%s", s.banner)
	}
	s.url = m[1]
	return s
}

// reloadFolder creates a folder with one action and its upstream, and returns
// the text of its configuration.
func reloadFolder(t *testing.T) (dir, text string, station *weatherStation) {
	t.Helper()
	station = newWeatherStation(t)
	text = fixture(t, "reload.yaml", map[string]string{"HOST": station.host(), "READER": auth.HashToken(tokenOf("reader"))})
	return configured(t, text), text, station
}

// change replaces the configuration and waits for the server's message about
// it.
func (s *watched) change(t *testing.T, dir, text, want string) string {
	t.Helper()
	from := s.told.len()
	place(t, dir, app.ConfigName, text)
	return s.told.await(t, from, want)
}

// wants calls get-weather and requires a status.
func (s *watched) wants(t *testing.T, token, action, params string, status int) actionAnswer {
	t.Helper()
	a := s.actionWith(t, token, action, params)
	if a.Status != status {
		t.Errorf("%s %s = %d %s, want %d", action, params, a.Status, a.Error, status)
	}
	return a
}

func TestActionReloadPutsAChangeInForce(t *testing.T) {
	t.Parallel()
	dir, text, station := reloadFolder(t)
	s := serveWatched(t, dir)
	token, paris := tokenOf("reader"), `{"location":"Paris"}`
	s.wants(t, token, "get-weather", paris, 200)
	s.wants(t, token, "get-forecast", paris, 404)

	more := text + `  - id: get-forecast
    parameters: {location: {type: string, required: true}}
    handler: {http: {url: "` + station.URL + `/forecast?q={location}"}}
`
	s.change(t, dir, more, inForce)
	s.wants(t, token, "get-forecast", paris, 200)
	_, list := s.request(t, "GET", "/v1/actions", "", map[string]string{"Authorization": "Bearer " + token})
	if !strings.Contains(list, "get-forecast") {
		t.Errorf("the list = %s, want the new action", list)
	}

	// A removed action is gone, and the counted calls still count.
	s.change(t, dir, text, inForce)
	s.wants(t, token, "get-forecast", paris, 404)
	s.wants(t, token, "get-weather", paris, 200)
	s.wants(t, token, "get-weather", paris, 200)
	s.wants(t, token, "get-weather", paris, 429)

	// Removed permissions and principals are gone, too.
	s.change(t, dir, strings.Replace(text, `["weather:read"]}`, `["http:read"]}`, 1), inForce)
	s.wants(t, token, "get-weather", paris, 403)
	s.change(t, dir, strings.Replace(text, "  reader:", "  writer:", 1), inForce)
	s.wants(t, token, "get-weather", paris, 200) // another name has its own counter
	s.change(t, dir, strings.Replace(text, auth.HashToken(token), auth.HashToken(tokenOf("other")), 1), inForce)
	s.wants(t, token, "get-weather", paris, 401)
	s.wants(t, tokenOf("other"), "get-weather", paris, 429)
	s.stop(t)
}

// TestActionReloadKeepsTheLastGoodConfiguration breaks the configuration at
// each step of a reload.
func TestActionReloadKeepsTheLastGoodConfiguration(t *testing.T) {
	t.Parallel()
	dir, text, station := reloadFolder(t)
	s := serveWatched(t, dir)
	runSallyport(t, dir, "principals", "add", "kept")
	token, paris := tokenOf("reader"), `{"location":"Paris"}`
	at := func(line, column string) string { return `sallyport\.yaml:` + line + ":" + column + `: .*` }
	more := text + `  - id: get-forecast
    parameters: {location: {type: string, required: true}}
    handler: {http: {url: "` + station.URL + `/forecast?q={location}"}}
`
	tests := []struct{ name, text, want string }{
		{"no YAML", more + "\t{", at(`\d+`, `\d+`)},
		{"an unknown key", strings.Replace(more, "permissions: [\"weather:read\"]\n", "permisions: [\"weather:read\"]\n", 1), at("15", "5") + "permisions.*permissions"},
		{"a wrong type", strings.Replace(more, "requests: 3", "requests: three", 1), at("16", `\d+`)},
		{"a broken template", strings.Replace(more, "weather?q={location}", "weather?q={city}", 1), at("18", `\d+`) + "city"},
		{"an action twice", strings.Replace(more, "get-forecast", "get-weather", 1), "get-weather"},
		{"a principal of the state", strings.Replace(more, "  reader:", "  kept:", 1), `"kept" is in the configuration and in the state`},
		{"the limits elsewhere", strings.Replace(more, "personalities:", "limits: memory\npersonalities:", 1), "limits: this change needs a restart"},
		{"the state elsewhere", strings.Replace(more, "sqlite:.sallyport/state.db", "sqlite:.sallyport/other.db", 1), "state: this change needs a restart"},
		{"the role of the server gone", strings.Replace(more, "forecaster:", "other:", 1), `the role "forecaster", which this server serves, is gone`},
		{"packages from elsewhere", more + "packages: {npm: \"https://npm.example.com\"}\n", "packages: this change needs a restart"},
		{"members from another file", more + "known: {payees: {kind: account, file: p.txt}}\n", "known.<name>.file: this change needs a restart"},
		{"callers without a name", more + "security: {require_auth: false}\n", "security.require_auth: this change needs a restart"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			said := s.change(t, dir, tt.text, rejected)
			// The reason follows in the same write, or in the next one.
			from := strings.LastIndex(said, rejected)
			if !regexp.MustCompile(tt.want).MatchString(said[from:]) {
				t.Errorf("stderr = %s, want %s", said[from:], tt.want)
			}
			s.wants(t, token, "get-forecast", paris, 404)
			s.wants(t, token, "get-weather", `{}`, 400)
		})
	}
	// A file that is missing for a moment changes nothing; its replacement
	// takes effect.
	if err := os.Remove(filepath.Join(dir, app.ConfigName)); err != nil {
		t.Fatal(err)
	}
	s.wants(t, token, "get-weather", paris, 200)
	s.change(t, dir, more, inForce)
	s.wants(t, token, "get-forecast", paris, 200)
	s.stop(t)
}

// TestActionReloadLetsACallEnd changes the configuration while a call runs,
// first in an unrelated part. Then it removes the action, which ends the call.
func TestActionReloadLetsACallEnd(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-release
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"temperature":1}`))
	}))
	t.Cleanup(slow.Close)
	text := fixture(t, "reload.yaml", map[string]string{
		"HOST": strings.TrimPrefix(slow.URL, "http://"), "READER": auth.HashToken(tokenOf("reader")),
	})
	dir := configured(t, text)
	s := serveWatched(t, dir)
	answered := make(chan actionAnswer, 1)
	call := func() {
		a, err := execute(t.Context(), http.DefaultClient, s.url, tokenOf("reader"), "get-weather", `{"params":{"location":"Paris"}}`)
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}
	go call()
	<-arrived
	s.change(t, dir, text+"# changed\n", inForce)
	release <- struct{}{}
	if a := <-answered; a.Status != 200 || !strings.Contains(string(a.Data), `"temperature":1`) {
		t.Errorf("the call that ran = %d %s %s, want 200", a.Status, a.Error, a.Data)
	}
	go call()
	<-arrived
	s.change(t, dir, strings.Replace(text, "get-weather", "look-outside", 1), inForce)
	a := <-answered
	if a.Status != 502 || !strings.Contains(a.Error, "was ended") {
		t.Errorf("a call of an action that is gone = %d %s, want it ended", a.Status, a.Error)
	}
	s.wants(t, tokenOf("reader"), "get-weather", `{"location":"Paris"}`, 404)
	if text := runSallyport(t, dir, "explain", "--call", a.CallID); !strings.Contains(text, "the configuration changed: there is no tool get-weather any more") {
		t.Errorf("explain --call says\n%s\nwant what ended it", text)
	}
	close(release)
	s.stop(t)
}

// TestActionReloadOnRequestTakesAChangedProgram changes a program, which is in
// no configuration file.
func TestActionReloadOnRequestTakesAChangedProgram(t *testing.T) {
	t.Parallel()
	needsChildren(t)
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
principals:
  reader: {token_sha256: "`+auth.HashToken(tokenOf("reader"))+`"}
actions:
  - {id: greet, handler: ./greet.sh}
`)
	place(t, dir, "greet.sh", "echo '\"hello\"'\n")
	s := serveWatched(t, dir)
	if a := s.wants(t, tokenOf("reader"), "greet", `{}`, 200); !strings.Contains(string(a.Data), "hello") {
		t.Errorf("greet = %s, want hello", a.Data)
	}
	place(t, dir, "greet.sh", "echo '\"goodbye\"'\n")
	s.wants(t, tokenOf("reader"), "greet", `{}`, 502)
	from := s.told.len()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.told.await(t, from, inForce)
	if a := s.wants(t, tokenOf("reader"), "greet", `{}`, 200); !strings.Contains(string(a.Data), "goodbye") {
		t.Errorf("greet = %s, want goodbye", a.Data)
	}
	s.stop(t)
}

// TestPrincipalsCountAtOnceInARunningServer changes principals from the command
// line. The test does not wait between the steps.
func TestPrincipalsCountAtOnceInARunningServer(t *testing.T) {
	t.Parallel()
	dir, _, _ := reloadFolder(t)
	s := serveWatched(t, dir)
	paris := `{"location":"Paris"}`
	token := strings.TrimSpace(runSallyport(t, dir, "principals", "add", "ci-agent", "--permission", "weather:read"))
	s.wants(t, token, "get-weather", paris, 200)

	fresh := strings.TrimSpace(runSallyport(t, dir, "principals", "rotate", "ci-agent"))
	s.wants(t, token, "get-weather", paris, 401)
	s.wants(t, fresh, "get-weather", paris, 200)

	runSallyport(t, dir, "principals", "stop", "ci-agent", "--reason", "leaked")
	if a := s.wants(t, fresh, "get-weather", paris, 403); !strings.HasPrefix(a.Error, "Permission denied: principal ci-agent is stopped") {
		t.Errorf("a stopped principal gets %q", a.Error)
	}
	s.wants(t, tokenOf("reader"), "get-weather", paris, 200)
	runSallyport(t, dir, "principals", "start", "ci-agent")
	s.wants(t, fresh, "get-weather", paris, 200)

	runSallyport(t, dir, "principals", "stop", "--tool", "get-weather")
	s.wants(t, tokenOf("reader"), "get-weather", paris, 404)
	runSallyport(t, dir, "principals", "start", "--tool", "get-weather")
	s.wants(t, tokenOf("reader"), "get-weather", paris, 200)

	runSallyport(t, dir, "principals", "revoke", "ci-agent")
	s.wants(t, fresh, "get-weather", paris, 401)
	s.stop(t)
}
