package page_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/internal/page"
)

// browser is one tab of a headless Chromium, driven over a pipe.
type browser struct {
	t       *testing.T
	in      io.Writer
	session string

	mu      sync.Mutex
	last    int
	answers map[int]chan json.RawMessage
	loaded  chan struct{}
	blocked []string // what the browser reported: refused loads, errors of scripts
}

// openBrowser starts a browser that ends with the test.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	program := needs.Program(t, "chromium-headless-shell")
	read, chromeOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	chromeIn, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{chromeIn, chromeOut}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	chromeIn.Close()
	chromeOut.Close()
	b := &browser{t: t, in: write, answers: map[int]chan json.RawMessage{}, loaded: make(chan struct{}, 100)}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		// The folder of its profile is removed next, so that none of its processes
		// may write there any more.
		for end := time.Now().Add(5 * time.Second); syscall.Kill(-cmd.Process.Pid, 0) == nil && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		write.Close()
		read.Close()
	})
	go b.listen(read)
	var target struct{ TargetID string }
	b.send("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.send("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Network", "Runtime", "Log", "Accessibility"} {
		b.send(domain+".enable", nil, nil)
	}
	return b
}

func (b *browser) listen(r io.Reader) {
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID            int
			Method        string
			Params        json.RawMessage
			Result, Error json.RawMessage
		}
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID > 0 && bytes.Contains(m.Error, []byte("navigated or closed")):
			b.answers[m.ID] <- json.RawMessage("{}") // the page that was asked is left
		case m.ID > 0 && m.Error != nil:
			b.blocked = append(b.blocked, string(m.Error))
			b.answers[m.ID] <- nil
		case m.ID > 0:
			b.answers[m.ID] <- m.Result
		case m.Method == "Page.loadEventFired":
			b.loaded <- struct{}{}
		case m.Method == "Log.entryAdded", m.Method == "Runtime.exceptionThrown":
			b.blocked = append(b.blocked, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// send asks the browser something and decodes its answer.
func (b *browser) send(method string, params, into any) {
	b.t.Helper()
	b.mu.Lock()
	b.last++
	id, answer := b.last, make(chan json.RawMessage, 1)
	b.answers[id] = answer
	b.mu.Unlock()
	m := map[string]any{"id": id, "method": method, "params": params}
	if params == nil {
		m["params"] = map[string]any{}
	}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	select {
	case result := <-answer:
		if into != nil && json.Unmarshal(result, into) != nil {
			b.t.Fatalf("%s answers %.300s", method, result)
		}
	case <-time.After(30 * time.Second):
		b.t.Fatalf("%s: the browser does not answer", method)
	}
}

// open loads an address.
func (b *browser) open(address string) {
	b.t.Helper()
	for len(b.loaded) > 0 {
		<-b.loaded
	}
	b.send("Page.navigate", map[string]any{"url": address}, nil)
	b.waitLoaded()
}

func (b *browser) waitLoaded() {
	b.t.Helper()
	select {
	case <-b.loaded:
	case <-time.After(30 * time.Second):
		b.t.Fatal("the page does not load")
	}
}

// run runs a script in the page and decodes what it returns; a promise is waited for.
// A page that is left while it is asked returns nothing.
func (b *browser) run(script string, into any) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.send("Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("the script fails: %.500s", answer.ExceptionDetails)
	}
	if into != nil && answer.Result.Value != nil && json.Unmarshal(answer.Result.Value, into) != nil {
		b.t.Fatalf("the script returns %.300s", answer.Result.Value)
	}
}

// until runs a script until it returns true.
func (b *browser) until(what, script string) {
	b.t.Helper()
	for range 200 {
		var done bool
		if b.run(script, &done); done {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("%s: it does not become true", what)
}

// press presses a key.
func (b *browser) press(key string) {
	b.t.Helper()
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.send("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "text": key}, nil)
	}
}

// look sets the width of the window, in pixels, and whether it is dark.
func (b *browser) look(width int, dark bool) {
	b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.send("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.send("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// shoot writes a picture of the whole page into the folder SALLYPORT_PAGE_SHOTS, when that
// is set, for a person to look at.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("SALLYPORT_PAGE_SHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.send("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	text, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), text, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// signIn lets the browser in as a person.
func (b *browser) signIn(s *server, name string, reader bool) {
	b.t.Helper()
	b.open(s.link(b.t, name, reader))
	b.run(`document.querySelector("button.primary").click()`, nil)
	b.waitLoaded()
	var cookies struct {
		Cookies []struct {
			Name, SameSite string
			HTTPOnly       bool
		}
	}
	b.send("Network.getCookies", nil, &cookies)
	if len(cookies.Cookies) != 1 || cookies.Cookies[0].Name != page.Cookie || cookies.Cookies[0].SameSite != "Strict" || !cookies.Cookies[0].HTTPOnly {
		b.t.Fatalf("cookies after signing in: %+v", cookies.Cookies)
	}
}

// complaints returns what the browser reported since the last time.
func (b *browser) complaints() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := fmt.Sprint(b.blocked)
	if len(b.blocked) == 0 {
		text = ""
	}
	b.blocked = nil
	return text
}

func TestAPersonDecidesInABrowser(t *testing.T) {
	s := serve(t, configuration)
	b := openBrowser(t)
	b.signIn(s, "alice", false)
	b.until("live", `document.getElementById("link").textContent.startsWith("Connected")`)
	s.call(t, "bob", "s1", "read_file", `{"path":"README.md"}`)
	first := s.hold(t, "bob", `{"path":"notes/a.txt","content":"Dear team,\nthe numbers are in."}`)
	b.until("the held call appears by itself", `document.querySelectorAll("[data-held]").length === 1`)
	second := s.hold(t, "bob", `{"path":"notes/b.txt","content":"x"}`)
	b.until("the second one appears", `document.querySelectorAll("[data-held]").length === 2`)
	b.until("the title counts", `document.title.startsWith("(2) ")`)
	for name, width := range map[string]int{"wide": 1200, "phone": 390} {
		b.look(width, false)
		b.shoot("waiting-" + name)
		var over bool
		if b.run(`document.documentElement.scrollWidth > window.innerWidth`, &over); over {
			t.Errorf("at %d pixels the page is wider than the window", width)
		}
	}
	b.look(1200, true)
	b.shoot("waiting-dark")
	time.Sleep(600 * time.Millisecond) // a key does not count right after the calls changed
	b.press("y")
	b.waitLoaded()
	b.until("one is left", `document.querySelectorAll("[data-held]").length === 1`)
	if a, err := s.rt.Approvals.Get(t.Context(), first); err != nil || a.State != "approved" || a.DecidedBy != "page:alice" {
		t.Errorf("after y the first call is %s by %q, %v", a.State, a.DecidedBy, err)
	}
	time.Sleep(600 * time.Millisecond)
	b.press("n")
	b.waitLoaded()
	b.until("none is left", `document.querySelectorAll("[data-held]").length === 0`)
	if a, err := s.rt.Approvals.Get(t.Context(), second); err != nil || a.State != "denied" {
		t.Errorf("after n the second call is %s, %v", a.State, err)
	}
	b.look(1200, false)
	for name, path := range map[string]string{
		"live": "/page/live", "call": "/page/calls/" + approvalCall(t, s, first), "roles": "/page/roles", "servers": "/page/servers",
		"health": "/page/health", "tool": "/page/roles/default/write_file",
	} {
		b.open(s.url + path)
		b.shoot(name)
	}
	if text := b.complaints(); text != "" {
		t.Errorf("the browser complains: %s", text)
	}
}

// approvalCall returns the id of the call that was held.
func approvalCall(t *testing.T, s *server, id string) string {
	t.Helper()
	a, err := s.rt.Approvals.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a.CallID
}
