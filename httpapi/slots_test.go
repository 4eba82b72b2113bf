package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestB8_LongBodiesWaitForNobody: who holds as much as it may is refused, with
// the bound; another principal finds room beside it, at once.
func TestB8_LongBodiesWaitForNobody(t *testing.T) {
	k := newKit(t, nil)
	long := `{"params":{"a":"` + strings.Repeat("x", 100_000) + `"}}`
	files, kind := multipartForm(t, part{name: "file", file: "a", text: "x"})
	send := func(who, body, kind string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, k.site.URL+"/v1/actions/files/execute", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+who)
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		k.site.Config.Handler.ServeHTTP(w, r)
		return w
	}
	release := k.Occupy("alice")
	for _, tt := range [][3]string{
		{long, "application/json", "Too many long bodies at once: 288 MiB in all"},
		{files, kind, "Too many requests with files at once: 16 of a principal, 32 of all"},
	} {
		if got := send("alice", tt[0], tt[1]); got.Code != 503 || !strings.Contains(got.Body.String(), tt[2]) || got.Header().Get("Retry-After") == "" {
			t.Errorf("%.20q of the one who has its share = %d %s", tt[0], got.Code, got.Body)
		}
		if got := send("carol", tt[0], tt[1]); got.Code != 200 {
			t.Errorf("%.20q of another = %d %s, want 200", tt[0], got.Code, got.Body)
		}
	}
	if got := send("alice", `{}`, "application/json"); got.Code != 200 || k.files.count() != 0 {
		t.Errorf("a short body = %d with %d files kept, want 200", got.Code, k.files.count())
	}
	release()
	for _, body := range [][2]string{{long, "application/json"}, {files, kind}} {
		if got := send("alice", body[0], body[1]); got.Code != 200 {
			t.Errorf("%.20q with room = %d, want 200", body[0], got.Code)
		}
	}
}
