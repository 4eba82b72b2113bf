// Package page is the operator's side over HTTP: the page at /, which a person opens in a
// browser, and the approvals at /v1/approvals, for programs that decide for people. What
// agents, tools and servers wrote is shown as text, and never as anything else.
//
// Start with [New].
package page

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/running"
	"github.com/sallyport/sallyport/internal/signin"
)

const (
	// Cookie is the name of the cookie with a sign-in.
	Cookie = "sallyport_page"
	// signInPath is where a link leads.
	signInPath = "/page/signin"
	// maxForm bounds a form, in bytes: a reason, some ids and digests.
	maxForm = 16 << 10
	// writeWait bounds how long one write to a browser may take.
	writeWait = 30 * time.Second
	// maxStreams and maxOwnStreams bound the open streams of events, of all and of one
	// person.
	maxStreams, maxOwnStreams = 100, 10
)

// pagePart is a part of the page beside the calls that wait.
type pagePart struct{ Path, Name string }

// listParts returns the parts, in the order in which the page names them.
func listParts() []pagePart {
	return []pagePart{{"/page/live", "Live"}, {"/page/running", "Running"}, {"/page/roles", "Roles"}, {"/page/servers", "Servers"}, {"/page/health", "Health"}}
}

//go:embed templates/*.html
var templates embed.FS

//go:embed assets
var assets embed.FS

// Site is the operator's side of one server. It is safe for concurrent use.
type Site struct {
	rt        *app.Runtime
	live      *app.Live
	book      *signin.Book
	tries     *signin.Attempts
	issuer    *issuer // nil when people sign in through none
	pages     *template.Template
	streams   *running.Set
	recent    recentRecords
	look      lookCache
	led       ledBook
	uses      useCount
	verifying sync.Mutex
	verified  atomic.Pointer[verification] // nil before the first look
	planning  sync.Mutex                   // one change is looked at at a time
	// watching counts the open pages of people who may decide.
	watching atomic.Int32
}

// New returns the operator's side of a server with the registry in force.
func New(rt *app.Runtime, live *app.Live) (*Site, error) {
	pages, err := template.New("").Funcs(functions).ParseFS(templates, "templates/*.html")
	if err != nil {
		return nil, err
	}
	return &Site{rt: rt, live: live, book: NewBook(rt), tries: signin.NewAttempts(nil), pages: pages, streams: running.New(maxStreams, maxOwnStreams)}, nil
}

// Covers reports whether a request is for the page, for [auth.GuardOptions].
func Covers(r *http.Request) bool {
	p := r.URL.Path
	return p == "/" || strings.HasPrefix(p, "/page/") && !strings.HasPrefix(p, "/page/assets/")
}

// People says who is signed in, for [auth.GuardOptions].
func (s *Site) People() auth.Tokens { return s.book }

// Routes returns the table of what is served. The caller owns the slice.
func (s *Site) Routes() []httpapi.Route {
	table := s.apiRoutes()
	add := func(method, pattern, doc string, may func(p *sallyport.Principal) bool, h http.HandlerFunc) {
		table = append(table, httpapi.Route{Method: method, Pattern: pattern, Auth: true, Doc: doc, Handler: s.protectPages(may, h)})
	}
	add("GET", "/{$}", "The operator's page: the calls that wait for a person.", signin.MayRead, s.showWaiting)
	add("POST", "/page/decide", "Decides about a held call.", signin.MayDecide, s.takeDecision)
	add("GET", "/page/live", "Shows the decisions as they fall.", signin.MayRead, s.showLive)
	add("GET", "/page/calls/{id}", "Shows the history of a call.", signin.MayRead, s.showCall)
	add("GET", "/page/running", "Shows what runs, and how far it is.", signin.MayRead, s.showRunning)
	add("POST", "/page/stop", "Stops a running call.", signin.MayStop, s.takeStop)
	add("GET", "/page/roles", "Shows which role has which tool.", signin.MayRead, s.showRoles)
	add("GET", "/page/roles/{role}/{tool}", "Explains what a tool gets in a role.", signin.MayRead, s.showTool)
	add("GET", "/page/servers", "Shows the MCP servers and what changed of them.", signin.MayRead, s.showServers)
	add("GET", "/page/health", "Shows principals, kill switches and what is enforced.", signin.MayRead, s.showHealth)
	add("POST", "/page/switch", "Throws or releases a kill switch.", signin.MayStop, s.takeSwitch)
	add("POST", "/page/verify", "Checks the chain of the record.", signin.MayStop, s.takeVerification)
	add("GET", signInPath, "Signs a person in by a link.", signin.MayRead, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusSeeOther) })
	add("POST", signInPath, "Signs a person in by a link or a token.", signin.MayRead, s.signIn)
	add("GET", loginPath, "Sends a person to the OpenID provider.", signin.MayRead, s.beginLogin)
	add("GET", returnPath, "Signs a person in who comes back from there.", signin.MayRead, s.finishLogin)
	add("POST", "/page/signout", "Signs the person out.", signin.MayRead, s.signOut)
	add("GET", "/page/events", "Says as events that something changed.", signin.MayRead, s.streamEvents)
	for _, name := range []string{"page.css", "page.js", "icon.svg"} {
		table = append(table, httpapi.Route{
			Method: "GET", Pattern: "/page/assets/" + name, Doc: "A file of the operator's page.", Handler: http.HandlerFunc(serveAsset),
		})
	}
	return table
}

// SignIn answers a request for the page of a person who is not signed in.
func (s *Site) SignIn() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protectHeaders(w.Header())
		switch r.URL.Path {
		case loginPath:
			s.beginLogin(w, r)
		case returnPath:
			s.finishLogin(w, r)
		default:
			s.signIn(w, r)
		}
	})
}

// protectHeaders lets a browser load nothing but the page's own files, and show the page in
// no frame of another one.
func protectHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // a form of a page without one says Origin: null
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// protectPages lets those through who hold a permission, and forms that this page showed them.
func (s *Site) protectPages(may func(p *sallyport.Principal) bool, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protectHeaders(w.Header())
		if p, ok := auth.PrincipalFrom(r.Context()); !ok || !may(&p) {
			s.refuseRequest(w, r, http.StatusForbidden, "Your sign-in does not allow this.")
			return
		}
		if r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if err := r.ParseForm(); err != nil {
				s.refuseRequest(w, r, http.StatusBadRequest, "The form cannot be read.")
				return
			}
			if r.PostForm.Get("csrf") != csrfOf(r) {
				s.refuseRequest(w, r, http.StatusForbidden, "This form is not of your sign-in: load the page again.")
				return
			}
		}
		next(w, r)
	})
}

// csrfOf returns the word that every form of a sign-in carries. Only a page that the
// sign-in opened can have it.
func csrfOf(r *http.Request) string { return digest.Text("csrf " + tokenOf(r)) }

// tokenOf returns the token of the sign-in that the guard let in.
func tokenOf(r *http.Request) string {
	c, err := r.Cookie(Cookie)
	if err != nil {
		return ""
	}
	return c.Value
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	protectHeaders(w.Header())
	http.ServeFileFS(w, r, assets, "assets/"+path.Base(r.URL.Path))
}

// frame is what every page shows around its own content.
type frame struct {
	Title   string
	Path    string // the part of the page that is open
	Who     string // empty before the sign-in
	CSRF    string
	Decides bool
	Stops   bool
	Waiting int
	Version string
	Said    string // what became of the last form
	Bad     bool   // Said is a refusal
	Onward  string // the path to which the browser goes on by itself; empty for none
	Body    any
}

// showPart answers with a page. The template of its content has the name of the page.
func (s *Site) showPart(w http.ResponseWriter, r *http.Request, status int, name string, f frame) {
	p, ok := auth.PrincipalFrom(r.Context())
	if ok {
		f.Who, f.CSRF = cleanText(strings.TrimPrefix(p.Name, signin.Prefix)), csrfOf(r)
		f.Decides, f.Stops = signin.MayDecide(&p), signin.MayStop(&p)
		f.Waiting = s.lookNow(r.Context()).Waiting
	}
	f.Path, f.Version = r.URL.Path, app.Version()
	var b bytes.Buffer
	if err := s.pages.ExecuteTemplate(&b, name, &f); err != nil {
		s.rt.Logger.Error("a page cannot be shown", "page", name, "error", err)
		http.Error(w, "this page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeWait))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a browser that is gone cannot be told
}

// refuseRequest answers a request that is not carried out.
func (s *Site) refuseRequest(w http.ResponseWriter, r *http.Request, status int, why string) {
	s.showPart(w, r, status, "refusal", frame{Title: "Not done", Said: cleanText(why), Bad: true})
}
