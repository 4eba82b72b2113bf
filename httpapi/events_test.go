package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

func TestAStreamIsBounded(t *testing.T) {
	w := httptest.NewRecorder()
	e := newEventWriter(w)
	for range maxProgress + 5 {
		e.sendProgress(sallyport.Progress{Message: "again"})
	}
	e.sendEvent("result", resultBody(&sallyport.Result{OK: true}, 200))
	got := w.Body.String()
	if n := strings.Count(got, "event: progress\n"); n != maxProgress || !strings.HasSuffix(got, "\"status\":200}\n\n") {
		t.Errorf("%d events before %.60q, want %d and the result", n, got[max(0, len(got)-60):], maxProgress)
	}
}
