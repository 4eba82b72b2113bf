package page_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A link in a mail or a chat comes from another site: the sign-in does not come along, so
// that the answer leads on to the page, which then has it.
func TestALinkAtAnotherSiteLeadsToThePage(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	v := s.signIn(t, "alice", true)
	follow := func(client *http.Client, path, mode string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": "document"} {
			r.Header.Set(name, value)
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return readAnswer(t, res)
	}
	for path, want := range map[string]string{
		"/": `content="0; url=/"`, "/page/calls/c1": `content="0; url=/page/calls/c1"`, "/page/calls/%22%3E%3Cscript%3E": "url=/page/calls/%22%3E%3Cscript%3E",
	} {
		if status, body := follow(http.DefaultClient, path, "navigate"); status != 200 || !strings.Contains(body, want) || strings.Contains(body, "Sign out") {
			t.Errorf("a link at another site to %s = %d without %q: %s", path, status, want, body)
		}
	}
	if status, body := follow(http.DefaultClient, "/page/signin?code=none", "navigate"); status != 401 || !strings.Contains(body, "used before") {
		t.Errorf("a link that signs in = %d %s", status, body)
	}
	for _, path := range []string{"/page/health", "/page/live", "/page/roles"} {
		if status, _ := follow(v.client, path, "navigate"); status != 403 {
			t.Errorf("a link at another site to %s = %d, want 403", path, status)
		}
	}
	if status, _ := follow(v.client, "/", "no-cors"); status != 403 {
		t.Errorf("what another site loads of the page = %d, want 403", status)
	}
}

// An open page is told that another person said yes: the next yes is the last one then.
func TestAnOpenPageIsToldOfAYes(t *testing.T) {
	t.Parallel()
	s := serve(t, ruled("{by: [page:ann, page:ben], needed: 2}"))
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	ben := s.signIn(t, "ben", false)
	look := func() (which string) {
		t.Helper()
		res, err := ben.client.Get(ben.url + "/page/events")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b := make([]byte, 1000)
		n, _ := res.Body.Read(b)
		_, which, _ = strings.Cut(string(b[:n]), `"which":"`)
		which, _, _ = strings.Cut(which, `"`)
		return which
	}
	before := look()
	if status, body := s.signIn(t, "ann", false).decideCall(id, "once"); status != 200 || !strings.Contains(body, "1 of 2") {
		t.Fatalf("the first yes = %d: %s", status, body)
	}
	if after := look(); before == "" || after == before {
		t.Errorf("the open page was told %q and then %q", before, after)
	}
}

// Who only looks checks no chain, and a browser that goes away breaks none.
func TestOnlyWhoMayStopChecksTheChain(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	reader, v := s.signIn(t, "ruth", true), s.signIn(t, "alice", false)
	if _, body := reader.get("/page/health"); strings.Contains(body, "/page/verify") {
		t.Error("a person who only looks is offered to check the chain")
	}
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	if status, _ := reader.post("/page/verify", url.Values{"csrf": {reader.form(id).Get("csrf")}}); status != 403 {
		t.Errorf("a person who only looks checks the chain: %d", status)
	}
	csrf := v.form(id).Get("csrf")
	impatient := *v.client
	impatient.Timeout = time.Millisecond
	w := &visitor{t, &impatient, v.url}
	r, err := http.NewRequestWithContext(t.Context(), "POST", w.url+"/page/verify", strings.NewReader(url.Values{"csrf": {csrf}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", v.url)
	if res, err := w.client.Do(r); err == nil {
		res.Body.Close()
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		_, body := v.get("/page/health")
		if strings.Contains(body, ">broken<") || strings.Contains(body, "came to no end") {
			t.Fatal("a browser that went away broke the chain")
		}
		if strings.Contains(body, ">verified<") || time.Since(began) > 2*time.Second {
			return
		}
	}
}
