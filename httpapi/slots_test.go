package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestLongBodiesWaitForTheirTurn occupies every slot. A long body and a form
// then wait, here until their client is gone, and a short body does not.
func TestLongBodiesWaitForTheirTurn(t *testing.T) {
	k := newKit(t, nil)
	long := `{"params":{"a":"` + strings.Repeat("x", 100_000) + `"}}`
	files, kind := form(t, part{name: "file", file: "a", text: "x"})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	send := func(ctx context.Context, body, kind string) int {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, k.site.URL+"/v1/actions/files/execute", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		k.site.Config.Handler.ServeHTTP(w, r)
		return w.Code
	}
	release := k.Occupy()
	if got := send(gone, long, "application/json"); got != 503 {
		t.Errorf("a long body without a slot = %d, want 503", got)
	}
	if got := send(gone, files, kind); got != 503 || k.files.count() != 0 {
		t.Errorf("a form without a slot = %d with %d files kept, want 503", got, k.files.count())
	}
	if got := send(t.Context(), `{}`, "application/json"); got != 200 {
		t.Errorf("a short body = %d, want 200", got)
	}
	release()
	for _, body := range [][2]string{{long, "application/json"}, {files, kind}} {
		if got := send(t.Context(), body[0], body[1]); got != 200 {
			t.Errorf("%.20q with a slot = %d, want 200", body[0], got)
		}
	}
	k.Occupy()() // every slot is free again
}
