package anchor

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
)

func TestAHeadIsPosted(t *testing.T) {
	t.Parallel()
	var got []byte
	status := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		w.WriteHeader(status)
	}))
	defer server.Close()
	e := NewEntry(audit.Head{Seq: 7, Hash: audit.Hash{1}}, "k", time.Now())
	if err := PostTo(t.Context(), server.Client(), server.URL, e); err != nil {
		t.Fatal(err)
	}
	// What the place was told is a line of a file of anchors.
	list, err := ReadEntries(strings.NewReader(string(got)))
	if err != nil || len(list) != 1 || list[0] != e {
		t.Errorf("%q reads as %+v, %v", got, list, err)
	}
	status = http.StatusForbidden
	if err := PostTo(t.Context(), server.Client(), server.URL+"/hunter2", e); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("an answer of 403: %v", err)
	}
	server.Close()
	if err := PostTo(t.Context(), server.Client(), server.URL+"/hunter2", e); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("without a server: %v", err)
	}
}
