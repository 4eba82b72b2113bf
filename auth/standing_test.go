package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// told is a directory of one token whose answer changes.
type told struct {
	now func() (sallyport.Principal, bool)
}

func (d told) Principal(context.Context, string) (sallyport.Principal, bool, error) {
	p, ok := d.now()
	return p, ok, nil
}

// slowBody says what it has to say after a while.
type slowBody struct {
	after time.Duration
	text  string
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.text == "" {
		time.Sleep(b.after)
		return 0, io.EOF
	}
	n := copy(p, b.text)
	b.text = b.text[n:]
	return n, nil
}

func guarded(t *testing.T, d told, h http.HandlerFunc) http.Handler {
	t.Helper()
	g, err := auth.NewGuard("127.0.0.1:7331", d, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g.Protect(h)
}

// TestASlowBodyDoesNotOutliveItsToken changes what a token stands for between
// the head of a request and the end of its body.
func TestASlowBodyDoesNotOutliveItsToken(t *testing.T) {
	before := sallyport.Principal{Name: "ci", Permissions: []string{"a:read"}, Personalities: []string{"reader"}}
	tests := []struct {
		name  string
		slow  time.Duration
		after sallyport.Principal
		known bool
		want  error
	}{
		{"at once", 0, sallyport.Principal{}, false, nil},
		{"nothing changed", time.Minute, before, true, nil},
		{"revoked", time.Minute, sallyport.Principal{}, false, auth.ErrWithdrawn},
		{"somebody else's", time.Minute, sallyport.Principal{Name: "other", Permissions: before.Permissions, Personalities: before.Personalities}, true, auth.ErrWithdrawn},
		{"fewer permissions", time.Minute, sallyport.Principal{Name: "ci", Personalities: before.Personalities}, true, auth.ErrWithdrawn},
		{"no role", time.Minute, sallyport.Principal{Name: "ci", Permissions: before.Permissions, Personalities: []string{}}, true, auth.ErrWithdrawn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, read := 0, errors.New("not read")
				d := told{func() (sallyport.Principal, bool) {
					if asked++; asked == 1 {
						return before, true
					}
					return tt.after, tt.known
				}}
				h := guarded(t, d, func(_ http.ResponseWriter, r *http.Request) {
					_, read = io.ReadAll(r.Body)
					if _, again := r.Body.Read(make([]byte, 1)); tt.want != nil && !errors.Is(again, tt.want) {
						t.Errorf("the next Read = %v, want %v", again, tt.want)
					}
				})
				r := httptest.NewRequest("POST", "http://127.0.0.1:7331/x", &slowBody{tt.slow, "{}"})
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Authorization", "Bearer token")
				h.ServeHTTP(httptest.NewRecorder(), r)
				if !errors.Is(read, tt.want) {
					t.Errorf("the body ends with %v, want %v", read, tt.want)
				}
			})
		})
	}
}

// TestAStreamEndsWithItsToken has a client listen while its token is revoked.
func TestAStreamEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		revoked := time.Now().Add(time.Minute)
		d := told{func() (sallyport.Principal, bool) {
			return sallyport.Principal{Name: "ci"}, time.Now().Before(revoked)
		}}
		h := guarded(t, d, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		r := httptest.NewRequest("GET", "http://127.0.0.1:7331/x", nil)
		r.Header.Set("Authorization", "Bearer token")
		ended := make(chan time.Time, 1)
		go func() {
			h.ServeHTTP(httptest.NewRecorder(), r)
			ended <- time.Now()
		}()
		if late := (<-ended).Sub(revoked); late < 0 || late > 5*time.Second {
			t.Errorf("the stream ended %v after the revocation, want within seconds", late)
		}
	})
}
