package httpapi

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/internal/budget"
	"github.com/sallyport/sallyport/internal/dashboard"
	"github.com/sallyport/sallyport/internal/running"
)

const (
	// defaultBody bounds a JSON body, in bytes: the largest arguments that
	// the gate decodes, and room for what stands around them.
	defaultBody = 9 << 20
	// defaultHeartbeat is the time between comments in a silent stream. Half
	// a minute is what intermediaries allow a silent connection at least.
	defaultHeartbeat = 15 * time.Second

	// stopWait bounds how long calls that were cancelled are waited for.
	stopWait = 5 * time.Second
)

// Options configure a server. The zero value is usable.
type Options struct {
	// Personality is the role of a caller that names none and may take it;
	// others get the first of their principal's.
	Personality string
	// Version is that of the OpenAPI document; empty means "dev".
	Version string
	// Logger receives what clients must not see; nil discards it.
	Logger *slog.Logger
	// Uploads keeps the files of multipart requests; nil serves none.
	Uploads Uploads
	// Shelf keeps uploads for later calls of their principal; nil serves none.
	Shelf *attached.Shelf
	// MaxBody bounds a JSON body in bytes; 0 means 9 MiB.
	MaxBody int64
	// MaxUpload bounds a multipart body in bytes, everything included; 0
	// means 64 MiB.
	MaxUpload int64
	// Heartbeat is the time between comments in a silent stream; 0 means
	// 15 s.
	Heartbeat time.Duration
	// Dashboard passes on the progress of running calls; nil serves none.
	Dashboard *dashboard.Hub
	// Ready reports whether calls can be served; nil means always. The error
	// is logged; of an [*Unready] its reason is shown.
	Ready func(ctx context.Context) error
}

// Server offers one gate. It is safe for concurrent use.
type Server struct {
	gate    Gate
	o       Options
	running *running.Set
	long    *budget.Budget // bytes of long bodies
	files   *running.Set   // multipart requests
	watches *running.Set   // streams of progress for dashboards
	mux     *Mux
}

// New returns a server over a gate; nil o means the defaults.
func New(gate Gate, o *Options) (*Server, error) {
	if gate == nil {
		return nil, errors.New("httpapi: the gate is nil")
	}
	s := &Server{
		gate: gate, running: running.New(maxRequests, maxEach),
		long: budget.New(longBytes), files: running.New(maxUploads, maxOwnUploads), watches: running.NewYielding(maxWatches, maxOwnWatches),
	}
	if o != nil {
		s.o = *o
	}
	if err := s.o.setDefaults(); err != nil {
		return nil, err
	}
	var err error
	s.mux, err = NewMux(s.routeTable())
	return s, err
}

// setDefaults fills in defaults and reports every field that is out of range.
func (o *Options) setDefaults() error {
	if o.MaxBody < 0 || o.MaxUpload < 0 || o.Heartbeat < 0 {
		return errors.New("httpapi: MaxBody, MaxUpload and Heartbeat must not be negative")
	}
	o.MaxBody = cmp.Or(o.MaxBody, defaultBody)
	o.MaxUpload = cmp.Or(o.MaxUpload, defaultUpload)
	o.Heartbeat = cmp.Or(o.Heartbeat, defaultHeartbeat)
	o.Version = cmp.Or(o.Version, "dev")
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return nil
}

func (s *Server) routeTable() []Route {
	get := func(pattern, doc string, h http.HandlerFunc) Route {
		return Route{Method: http.MethodGet, Pattern: pattern, Auth: true, Doc: doc, Handler: h}
	}
	execute := Route{
		Method: http.MethodPost, Pattern: "/v1/actions/{id}/execute", Auth: true, Content: ContentJSON,
		Doc: "Executes an action, with progress as a stream of events on request.", Handler: http.HandlerFunc(s.executeJSON),
	}
	table := []Route{
		get("/v1/actions", "Lists the actions that the caller sees.", s.listActions),
		get("/v1/actions/{id}", "Describes one action.", s.describeAction),
		execute,
		get("/v1/openapi.json", "Describes the actions that the caller sees as an OpenAPI document.", s.openAPI),
		{Method: http.MethodGet, Pattern: "/healthz", Doc: "Says that the process answers.", Handler: http.HandlerFunc(s.serveHealthy)},
		{Method: http.MethodGet, Pattern: "/readyz", Doc: "Says whether calls can be served.", Handler: http.HandlerFunc(s.serveReady)},
	}
	if s.o.Dashboard != nil {
		table = append(table, get("/v1/progress", "Streams the progress of running calls, for a dashboard.", s.watchProgress))
	}
	if s.o.Shelf != nil {
		table = append(table, Route{
			Method: http.MethodPost, Pattern: "/v1/attachments", Auth: true, Content: contentMultipart,
			Doc: "Keeps a file for later calls of the caller.", Handler: http.HandlerFunc(s.keepUpload),
		}, Route{
			Method: http.MethodDelete, Pattern: "/v1/attachments/{ref}", Auth: true,
			Doc: "Deletes a file that is kept.", Handler: http.HandlerFunc(s.dropUpload),
		})
	}
	if s.o.Uploads != nil {
		execute.Content, execute.Handler = contentMultipart, http.HandlerFunc(s.executeWithFiles)
		execute.Doc = "Executes an action with files."
		table = append(table, execute)
	}
	return table
}

// Routes returns the table of what is served, to be joined with the routes of
// other surfaces in one [Mux]. The caller owns the slice.
func (s *Server) Routes() []Route { return s.mux.Routes() }

// Handler serves the table alone. It must stand behind an auth.Guard; a
// request without a principal is answered 401.
func (s *Server) Handler() http.Handler { return s.mux }

// Shutdown waits for the requests that run until the context ends, and cancels
// the rest; their calls are recorded either way. Requests that arrive
// during the wait are decided, recorded and cancelled. The error is the context's
// when calls had to be cancelled.
func (s *Server) Shutdown(ctx context.Context) error {
	s.watches.Stop()
	err := s.running.Wait(ctx)
	s.running.Stop()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	return errors.Join(err, s.running.Wait(stop))
}

func (s *Server) serveHealthy(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}
