package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
)

// tokenOf returns the token that the tests give a principal.
func tokenOf(principal string) string {
	return "test_" + principal + "_" + strings.Repeat("0", 40)
}

// weatherStation is an upstream that remembers its requests.
type weatherStation struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // the queries, as sent
}

func newWeatherStation(t testing.TB) *weatherStation {
	w := &weatherStation{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = append(w.asked, r.URL.RawQuery)
		w.mu.Unlock()
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"temperature":21.5,"condition":"clear in %s","humidity":40}`, r.URL.Query().Get("q"))
	}))
	t.Cleanup(w.Close)
	return w
}

func (w *weatherStation) host() string { return strings.TrimPrefix(w.URL, "http://") }

// seen returns the queries so far.
func (w *weatherStation) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.asked...)
}

// fixture reads a file of testdata/actions and replaces each ${NAME} that has a
// value. Variables of the configuration itself stay.
func fixture(t testing.TB, name string, values map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "actions", name))
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for k, v := range values {
		pairs = append(pairs, "${"+k+"}", v)
	}
	return strings.NewReplacer(pairs...).Replace(string(text))
}

// configured creates a folder with a configuration.
func configured(t testing.TB, text string) string {
	t.Helper()
	dir := t.TempDir()
	place(t, dir, app.ConfigName, text)
	return dir
}

// place replaces a file as editors do: a concurrent reader finds either the old
// text or the new one.
func place(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// weatherFolder creates a folder with the definition from the documents, and
// its upstream.
func weatherFolder(t testing.TB) (string, *weatherStation) {
	t.Helper()
	station := newWeatherStation(t)
	return configured(t, fixture(t, "weather.yaml", map[string]string{
		"HOST": station.host(), "READER": auth.HashToken(tokenOf("reader")),
		"SECOND": auth.HashToken(tokenOf("second")), "STRANGER": auth.HashToken(tokenOf("stranger")),
	})), station
}

// actionAnswer is an answer of the API.
type actionAnswer struct {
	Status     int             `json:"-"`
	RetryAfter string          `json:"-"`
	Success    bool            `json:"success"`
	Data       json.RawMessage `json:"data"`
	Error      string          `json:"error"`
	Code       string          `json:"code"`
	CallID     string          `json:"call_id"`
	ApprovalID string          `json:"approval_id"`
}

// execute posts a call of an action.
func execute(ctx context.Context, c *http.Client, url, token, action, body string) (a actionAnswer, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/actions/"+action+"/execute", strings.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := c.Do(r)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return a, err
	}
	a.Status, a.RetryAfter = res.StatusCode, res.Header.Get("Retry-After")
	return a, json.Unmarshal(text, &a)
}

// action calls an action as a principal with a token of [tokenOf].
func (s *service) action(t testing.TB, principal, action, params string) actionAnswer {
	t.Helper()
	return s.actionWith(t, tokenOf(principal), action, params)
}

func (s *service) actionWith(t testing.TB, token, action, params string) actionAnswer {
	t.Helper()
	a, err := execute(t.Context(), http.DefaultClient, s.url, token, action, `{"params":`+params+`}`)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// records returns the records of an export.
func records(t testing.TB, dir string) []record {
	t.Helper()
	var out []record
	dec := json.NewDecoder(strings.NewReader(runSallyport(t, dir, "--json", "audit", "tail", "-n", "0")))
	for {
		var r record
		err := dec.Decode(&r)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
}

// record holds the fields of a record that the tests read.
type record struct {
	Kind        string    `json:"kind"`
	CallID      string    `json:"call_id"`
	DelegatedBy string    `json:"delegated_by"`
	Time        time.Time `json:"time"`
	Principal   string    `json:"principal"`
	Tool        string    `json:"tool"`
	Args        string    `json:"args"`
	Code        string    `json:"code"`
	Stage       string    `json:"stage"`
	OK          bool      `json:"ok"`
	Error       string    `json:"error"`
	Change      struct {
		Action string `json:"action"`
		Target string `json:"target"`
	} `json:"change"`
}

// told is a writer in which a test can wait for a text.
type told struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{} // closed and replaced at each write
}

func newTold() *told { return &told{wrote: make(chan struct{})} }

func (w *told) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.wrote)
	w.wrote = make(chan struct{})
	return w.text.Write(b)
}

// await returns everything written after the first from bytes, once it holds
// want.
func (w *told) await(t testing.TB, from int, want string) string {
	t.Helper()
	// Only a failing test reaches this bound: a passing one does not wait for
	// it.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		w.mu.Lock()
		text, wrote := w.text.String()[from:], w.wrote
		w.mu.Unlock()
		if strings.Contains(text, want) {
			return text
		}
		select {
		case <-wrote:
		case <-ctx.Done():
			t.Fatalf("stderr = %q, want %q in it", text, want)
		}
	}
}

// len returns the number of bytes written.
func (w *told) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Len()
}

// copyTree copies a folder of testdata.
func copyTree(t testing.TB, to, from string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}

// needsChildren skips a test whose actions are programs on a machine that
// cannot confine them: such a machine refuses them.
func needsChildren(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("programs are confined on Linux only")
	}
}

// keep writes a file that only its owner may read, in a folder that only its
// owner may read.
func keep(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// configText returns the configuration of a folder.
func configText(t testing.TB, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, app.ConfigName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
