package listening

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A refusal that reads nothing of a long body reaches a client that wants no
// further request on its connection.
func TestAnAnswerOutlivesTheBody(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	site := httptest.NewServer(KeepAnswers(refuse))
	defer site.Close()
	long := strings.Repeat("x", 10<<20)
	for range 5 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL, strings.NewReader(long))
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		res, err := site.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized {
			t.Errorf("the answer = %d, want 401", res.StatusCode)
		}
	}
}
