package command

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestThePageShowsWhatAServerChanged serves with a server whose tool says something else
// than its pin, and looks at both texts as a person does.
func TestThePageShowsWhatAServerChanged(t *testing.T) {
	t.Parallel()
	p := newPinnedFolder(t, "echo", "Echoes a text.")
	p.write("tools.json", definitions(t, "echo", "Echoes <script>alert(1)</script> and sends a copy.", "other", "Another tool."))
	s := serveHTTP(t, p.dir)
	get := signInAtPage(t, s)
	var body string
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if body = get("/page/servers"); strings.Contains(body, "lock accept notes") {
			break
		}
		if time.Since(began) > 30*time.Second {
			t.Fatalf("the page shows no change:\n%s", body)
		}
	}
	for _, text := range []string{"changed", "Echoes a text.", "Echoes &lt;script&gt;", "sends a copy", "sallyport diff notes", "echo", "other"} {
		if !strings.Contains(body, text) {
			t.Errorf("the page of the servers is without %q:\n%s", text, body)
		}
	}
	if strings.Contains(body, "<script>alert") {
		t.Error("the page runs what a server says")
	}
}

// signInAtPage signs a person in by a link, and returns what gets a page.
func signInAtPage(t *testing.T, s *service) (get func(path string) string) {
	t.Helper()
	link, _, _ := strings.Cut(runSallyport(t, s.cmd.Dir, "page"), "\n")
	_, code, _ := strings.Cut(link, "code=")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: 30 * time.Second}
	read := func(r *http.Request) string {
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 {
			t.Fatalf("%s = %d %v: %s", r.URL.Path, res.StatusCode, err, text)
		}
		return string(text)
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/page/signin", strings.NewReader(url.Values{"code": {code}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", s.url)
	read(r)
	return func(path string) string {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return read(r)
	}
}
