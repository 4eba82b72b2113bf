package httpapi

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// Content types of requests.
const (
	// ContentJSON is the content type of a JSON body.
	ContentJSON = "application/json"
	// contentMultipart is the content type of a body with files.
	contentMultipart = "multipart/form-data"
)

// Route is one row of a table of routes.
type Route struct {
	// Method is the HTTP method; empty means every method, for a handler of
	// another protocol. GET answers HEAD too.
	Method string
	// Pattern is a path in the language of [http.ServeMux], without method
	// and host.
	Pattern string
	// Auth says that a principal is needed. It is false for health checks
	// only, whose patterns have no wildcard.
	Auth bool
	// Content is the content type that a body must have: ContentJSON,
	// multipart/form-data, or empty when no body is read. Rows that differ in
	// nothing else share a method and pattern.
	Content string
	// Doc says in one sentence what the route does.
	Doc string
	// Handler answers.
	Handler http.Handler
}

// Mux serves a table of routes and nothing else. What is not in the table is
// 404, a method that is not 405 with Allow, another content type 415, and a
// request without a principal 401, all as JSON. It is safe for concurrent use.
type Mux struct {
	mux    *http.ServeMux
	routes []Route
}

// NewMux checks a table and returns a handler for it. The error lists every
// broken row. The table is copied.
func NewMux(routes []Route) (m *Mux, err error) {
	m = &Mux{mux: http.NewServeMux(), routes: slices.Clone(routes)}
	if err := m.checkRoutes(); err != nil {
		return nil, err
	}
	// The library panics over patterns that it cannot parse or order.
	defer func() {
		if v := recover(); v != nil {
			m, err = nil, fmt.Errorf("httpapi: %v", v)
		}
	}()
	byPattern := map[string]routeRows{}
	for _, r := range m.routes {
		byPattern[r.Pattern] = append(byPattern[r.Pattern], r)
	}
	for pattern, rows := range byPattern {
		m.mux.Handle(pattern, rows)
	}
	if _, taken := byPattern["/"]; !taken {
		m.mux.HandleFunc("/", serveNotFound)
	}
	return m, nil
}

// checkRoutes collects what is wrong with the rows of the table.
func (m *Mux) checkRoutes() error {
	var faults []error
	seen := map[[3]string]bool{}
	protected := map[string]bool{}
	for i, r := range m.routes {
		broken := func(why string) {
			faults = append(faults, fmt.Errorf("httpapi: route %d (%s %s): %s", i, r.Method, r.Pattern, why))
		}
		if !strings.HasPrefix(r.Pattern, "/") {
			broken("the pattern must begin with /")
		}
		if r.Handler == nil || r.Doc == "" {
			broken("a handler and a sentence are needed")
		}
		if r.Content != "" && r.Content != ContentJSON && r.Content != contentMultipart {
			broken("the content type is not known")
		}
		if !r.Auth && strings.ContainsAny(r.fixedPath(), "{}") {
			broken("a route without a principal cannot have a wildcard")
		}
		if auth, ok := protected[r.Pattern]; ok && auth != r.Auth {
			broken("a path is open or not, whatever the method")
		}
		key := [3]string{r.Method, r.Pattern, r.Content}
		if seen[key] {
			broken("it stands there twice")
		}
		seen[key], protected[r.Pattern] = true, r.Auth
	}
	return errors.Join(faults...)
}

// fixedPath returns the one path of a pattern without wildcards: "/{$}" is the
// path "/" and nothing below it.
func (r *Route) fixedPath() string { return strings.TrimSuffix(r.Pattern, "{$}") }

// Routes returns the table that is served. The caller owns the slice.
func (m *Mux) Routes() []Route { return slices.Clone(m.routes) }

// Open returns the paths that need no principal, for [auth.GuardOptions].
func (m *Mux) Open() []string {
	var out []string
	for _, r := range m.routes {
		if !r.Auth && !slices.Contains(out, r.fixedPath()) {
			out = append(out, r.fixedPath())
		}
	}
	return out
}

// Multipart reports whether a request may bring files, for
// [auth.GuardOptions].
func (m *Mux) Multipart(r *http.Request) bool {
	_, pattern := m.mux.Handler(r)
	return slices.ContainsFunc(m.routes, func(row Route) bool {
		return row.Pattern == pattern && row.Method == r.Method && row.Content == contentMultipart
	})
}

// Refuse answers a request that a guard refuses, in the form of this API, for
// [auth.GuardOptions].
func Refuse(w http.ResponseWriter, status int, why string) {
	code := sallyport.CodePermissionDenied
	switch status {
	case http.StatusUnsupportedMediaType:
		code = sallyport.CodeInputInvalid
	case http.StatusServiceUnavailable:
		code = sallyport.CodeNotAvailable
	}
	protectHeaders(w.Header())
	writeRefusal(w, status, code, why)
}

// protectHeaders sets the headers of every answer. An answer is for one caller.
func protectHeaders(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// ServeHTTP answers a request by the table. A path that is not in its plain
// form is not redirected to it: it leads nowhere.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protectHeaders(w.Header())
	if p := r.URL.Path; p == "" || p[0] != '/' || plainPath(p) != p {
		serveNotFound(w, r)
		return
	}
	m.mux.ServeHTTP(w, r)
}

// plainPath is the form of a path without empty, "." and ".." elements.
func plainPath(p string) string {
	out := path.Clean(p)
	if strings.HasSuffix(p, "/") && out != "/" {
		out += "/"
	}
	return out
}

// routeRows is the rows of one pattern.
type routeRows []Route

// ServeHTTP chooses the row by method and content type.
func (res routeRows) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rows := res.rowsFor(r.Method)
	switch {
	case len(rows) == 0:
		w.Header().Set("Allow", res.allowHeader())
		writeRefusal(w, http.StatusMethodNotAllowed, sallyport.CodeInputInvalid, "The method is not allowed here; allowed: "+res.allowHeader())
		return
	case rows[0].Auth && !hasPrincipal(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="sallyport"`)
		writeRefusal(w, http.StatusUnauthorized, sallyport.CodePermissionDenied, "A bearer token is required")
		return
	}
	kind, ok := mediaType(r)
	for _, row := range rows {
		if row.Content == "" || !mayHaveBody(r.Method) || ok && row.Content == kind {
			row.Handler.ServeHTTP(w, r)
			return
		}
	}
	var kinds []string
	for _, row := range rows {
		kinds = append(kinds, row.Content)
	}
	writeRefusal(w, http.StatusUnsupportedMediaType, sallyport.CodeInputInvalid, "The content type must be "+strings.Join(kinds, " or ")+", in UTF-8 and not compressed")
}

func (res routeRows) rowsFor(method string) []Route {
	var own, every []Route
	for _, row := range res {
		switch {
		case row.Method == method, row.Method == http.MethodGet && method == http.MethodHead:
			own = append(own, row)
		case row.Method == "":
			every = append(every, row)
		}
	}
	if len(own) > 0 {
		return own
	}
	return every
}

func (res routeRows) allowHeader() string {
	var out []string
	for _, row := range res {
		out = append(out, row.Method)
		if row.Method == http.MethodGet {
			out = append(out, http.MethodHead)
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

func hasPrincipal(r *http.Request) bool {
	p, ok := auth.PrincipalFrom(r.Context())
	return ok && p.Name != ""
}

func mayHaveBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// mediaType returns the media type of a body. A body that is compressed or in
// another character set is not ok: it would be read as something else.
func mediaType(r *http.Request) (kind string, ok bool) {
	types := r.Header.Values("Content-Type")
	if len(types) != 1 || len(r.Header.Values("Content-Encoding")) > 0 {
		return "", false
	}
	kind, params, err := mime.ParseMediaType(types[0])
	if err != nil {
		return "", false
	}
	charset, given := params["charset"]
	return kind, !given || strings.EqualFold(charset, "utf-8")
}

func serveNotFound(w http.ResponseWriter, _ *http.Request) {
	writeRefusal(w, http.StatusNotFound, sallyport.CodeNotAvailable, "There is nothing at this path")
}
