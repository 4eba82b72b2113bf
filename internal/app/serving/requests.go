package serving

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/logging"
	"github.com/sallyport/sallyport/internal/metrics"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/tracing"
)

// loggedPath bounds the path in a log line, in bytes: the client chooses it.
const loggedPath = 256

// logRequests gives each request an id and writes one line about it when it is
// answered. The query is left out, since people put secrets there. It counts the
// request, too, and notes the trace that it belongs to where calls are traced.
func logRequests(logger *slog.Logger, counts *metrics.Metrics, traced bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note := &logging.Request{ID: logging.NewID()}
		w.Header().Set("X-Request-Id", note.ID)
		ctx := logging.WithRequest(r.Context(), note)
		if traced {
			ctx = tracing.WithRequest(ctx, &tracing.Request{Parent: tracing.FromHeader(r.Header), Transport: tracing.TransportTCP})
		}
		r = r.WithContext(ctx)
		answer, began := &answerCounter{ResponseWriter: w}, time.Now()
		defer func() {
			took := time.Since(began)
			counts.CountRequest(r.Method, answer.statusCode(), took)
			if !logger.Enabled(r.Context(), slog.LevelInfo) {
				return
			}
			logger.LogAttrs(r.Context(), slog.LevelInfo, "request",
				slog.String("method", text.ClipBytes(r.Method, loggedPath)), slog.String("path", text.ClipBytes(r.URL.Path, loggedPath)),
				slog.Int("status", answer.statusCode()), slog.Int64("bytes", answer.bytes), slog.Float64("ms", float64(took.Microseconds())/1000),
				slog.String("principal", note.Principal), slog.String("remote", r.RemoteAddr))
		}()
		next.ServeHTTP(answer, r)
	})
}

// notePrincipal notes who the guard let in, for the line about the request.
func notePrincipal(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if note := logging.RequestFrom(r.Context()); note != nil {
			p, _ := auth.PrincipalFrom(r.Context())
			note.Principal = p.Name
		}
		next.ServeHTTP(w, r)
	})
}

// answerCounter counts what is answered.
type answerCounter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// Unwrap is for http.ResponseController.
func (c *answerCounter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader notes the status that stands: the first one that is no information.
func (c *answerCounter) WriteHeader(status int) {
	if c.status == 0 && status >= http.StatusOK {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write counts bytes.
func (c *answerCounter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes += int64(n)
	return n, err
}

// statusCode returns the status of the answer, 200 when a handler named none.
func (c *answerCounter) statusCode() int {
	if c.status == 0 {
		return http.StatusOK
	}
	return c.status
}
