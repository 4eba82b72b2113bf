package callback

import (
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/serverlist"
)

// TestTheWayBackTakesOneAnswer sends a second answer with the right state, and
// checks that the wait is bounded.
func TestTheWayBackTakesOneAnswer(t *testing.T) {
	t.Parallel()
	own := serverlist.NewListeners(filepath.Join(t.TempDir(), "servers"), nil)
	b, err := Listen(t.Context(), own, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if what, err := own.Refuse(netip.MustParseAddrPort(b.listener.Addr().String())); what == "" || err != nil {
		t.Errorf("a tool reaches the way back: %v", err)
	}
	answers := make(chan url.Values, 1)
	h := b.newHandler("the-state", answers)
	ask := func(method, query string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, b.URL()+query, nil)
		h.ServeHTTP(w, r)
		if w.Header().Get("Referrer-Policy") != "no-referrer" || strings.Contains(w.Body.String(), "the-code") {
			t.Errorf("%s %s = %v %s", method, query, w.Header(), w.Body)
		}
		return w.Code
	}
	for _, tt := range []struct {
		method, query string
		want          int
	}{
		{"GET", "?code=the-code", 400},
		{"GET", "?code=the-code&state=x", 400},
		{"GET", "?state=the-state&state=the-state", 400},
		{"GET", "?state=the-state&code=%zz", 400},
		{"POST", "?code=the-code&state=the-state", 405},
		{"GET", "?code=the-code&state=the-state", 200},
		{"GET", "?code=another&state=the-state", 410},
	} {
		if got := ask(tt.method, tt.query); got != tt.want {
			t.Errorf("%s %s = %d, want %d", tt.method, tt.query, got, tt.want)
		}
	}
	if got := (<-answers).Get("code"); got != "the-code" {
		t.Errorf("the answer has the code %q", got)
	}
	if _, err := b.Await(t.Context(), "the-state", time.Millisecond); err == nil || !strings.Contains(err.Error(), "no consent within 1ms") {
		t.Errorf("await() = %v, want no consent", err)
	}
}
