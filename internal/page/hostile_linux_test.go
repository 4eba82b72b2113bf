package page_test

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

// hostileTexts are what an attacker writes into every field that it can write.
var hostileTexts = []string{
	`<script>window.pwned=1</script>`,
	`"><img src=x onerror="window.pwned=1"><b id="main">`,
	`</pre></article><form action="/page/decide" method="post"><button name="answer" value="once">x</button></form>`,
	`javascript:window.pwned=1`,
	"evil\u202egpj.exe\u2066\u200b\u00ad\ufeff",
	"\x1b[31mred\x1b[0m\x00\x07\r\nAllowed for always",
	"{{.CSRF}} ${window.pwned=1}",
	strings.Repeat("שלום", 400),
	strings.Repeat("W", 5000),
	strings.Repeat("a\u0301\u0302\u0303\u0304", 200),
	`--></style><style>*{display:none}</style><!--`,
}

// attack makes calls with hostile texts in every field.
func (s *server) attack(t *testing.T) {
	t.Helper()
	for _, text := range hostileTexts {
		args, err := json.Marshal(map[string]string{"path": "a.txt", "content": text})
		if err != nil {
			t.Fatal(err)
		}
		names, err := json.Marshal(map[string]string{"path": text})
		if err != nil {
			t.Fatal(err)
		}
		caller := &sallyport.Caller{
			Principal: sallyport.Principal{Name: "bob"}, Personality: "default", Session: text, Agent: text, Team: text, Platform: sallyport.PlatformHTTP,
		}
		for _, q := range []sallyport.Request{
			{Tool: "write_file", Args: args}, {Tool: "read_file", Args: names}, {Tool: text, Args: args}, {Tool: "read_file", Args: []byte(text)},
		} {
			s.live.Call(t.Context(), caller, q)
		}
		caller.Principal.Name = text
		s.live.Call(t.Context(), caller, sallyport.Request{Tool: "write_file", Args: args})
	}
}

// pathsOf returns an address of each kind of page, with hostile texts in the addresses, too.
func (s *server) pathsOf(t *testing.T) []string {
	t.Helper()
	paths := []string{"/", "/page/live", "/page/live?first=denied", "/page/roles", "/page/servers", "/page/health", "/page/roles/default/write_file"}
	list, err := s.rt.Approvals.List(t.Context(), false)
	if err != nil || len(list) < 5 {
		t.Fatalf("%d held calls, %v, want several", len(list), err)
	}
	for i := range list {
		paths = append(paths, "/page/calls/"+list[i].CallID)
	}
	for _, text := range hostileTexts[:4] {
		q := url.QueryEscape(text)
		paths = append(paths, "/page/live?tool="+q+"&who="+q+"&since="+q+"&outcome="+q, "/page/signin?code="+q, "/page/roles/default/"+url.PathEscape(text))
	}
	return paths
}

// TestWhatAttackersWriteIsShownAsText opens every page with hostile texts in every field.
func TestWhatAttackersWriteIsShownAsText(t *testing.T) {
	s := serve(t, configuration)
	s.attack(t)
	b := openBrowser(t)
	b.look(390, false)
	b.signIn(s, "alice", false)
	for _, path := range s.pathsOf(t) {
		b.open(s.url + path)
		var found struct {
			Pwned, Wide             bool
			Scripts, Images, Frames int
			Styles, Mains, Decides  int
			Held                    int
			Unseen                  string
		}
		b.run(`(() => { const n = (q) => document.querySelectorAll(q).length, text = document.body.innerText + document.title; return {
			Pwned: "pwned" in window, Wide: document.documentElement.scrollWidth > window.innerWidth,
			Scripts: n("script"), Images: n("img"), Frames: n("iframe, object, embed"), Styles: n("style, [style], [onerror], [onclick]"), Mains: n("#main"),
			Decides: n("form[action='/page/decide']"), Held: n("[data-held]"),
			Unseen: (text.match(/[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/) || [""])[0],
		}; })()`, &found)
		if found.Pwned || found.Scripts != 1 || found.Images > 0 || found.Frames > 0 || found.Styles > 0 || found.Mains != 1 {
			t.Errorf("%s: a hostile text became part of the page: %+v", path, found)
		}
		if found.Wide || found.Unseen != "" || found.Decides != found.Held {
			t.Errorf("%s: a hostile text changes the page: %+v", path, found)
		}
		if path == "/" || path == "/page/live" {
			b.shoot("hostile" + strings.ReplaceAll(path, "/", "-"))
		}
		for _, line := range strings.Split(b.complaints(), "}} ") {
			if strings.Contains(line, "Content Security Policy") || strings.Contains(line, "exception") {
				t.Errorf("%s: the browser complains: %.500s", path, line)
			}
		}
	}
}

// TestThePageIsAccessible asks axe-core about every page, light and dark, wide and narrow.
func TestThePageIsAccessible(t *testing.T) {
	needs.NPM(t, "axe-core")
	npm := needs.Program(t, "npm")
	dir := t.TempDir()
	for _, command := range [][]string{{npm, "pack", "axe-core@4.14.1"}, {needs.Program(t, "tar"), "-xzf", "axe-core-4.14.1.tgz", "package/axe.min.js"}} {
		cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
		cmd.Dir, cmd.Env = dir, needs.NodeRoots()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	axe, err := os.ReadFile(filepath.Join(dir, "package", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, configuration)
	s.attack(t)
	b := openBrowser(t)
	// Before the person signs in: the page that does it, with a link and without one.
	link := strings.TrimPrefix(s.link(t, "bob", true), s.url)
	for _, paths := range [][]string{{"/", link}, s.pathsOf(t)[:9]} {
		checkAccessible(t, s, b, string(axe), paths)
		if paths[1] == link {
			b.signIn(s, "alice", false)
		}
	}
}

// checkAccessible asks axe-core about pages.
func checkAccessible(t *testing.T, s *server, b *browser, axe string, paths []string) {
	t.Helper()
	for _, dark := range []bool{false, true} {
		for _, width := range []int{1200, 390} {
			b.look(width, dark)
			for _, path := range paths {
				b.open(s.url + path)
				b.run(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil)
				b.run(axe+";0", nil)
				var findings []struct {
					ID    string
					Nodes []struct{ HTML, FailureSummary string }
				}
				b.run(`axe.run(document).then((r) => r.violations.map((v) => ({ID: v.id, Nodes: v.nodes.slice(0, 2).map((n) => ({HTML: n.html.slice(0, 200), FailureSummary: n.failureSummary.slice(0, 300)}))})))`, &findings)
				for _, f := range findings {
					t.Errorf("%s, %d pixels, dark %v: %s: %+v", path, width, dark, f.ID, f.Nodes)
				}
			}
		}
	}
}
