package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// changingDirectory is a directory of one token whose answer changes.
type changingDirectory struct {
	now func() (sallyport.Principal, bool)
}

func (d changingDirectory) Principal(context.Context, string) (sallyport.Principal, bool, error) {
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

func guarded(t *testing.T, d changingDirectory, h http.HandlerFunc) http.Handler {
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
		{"another principal's", time.Minute, sallyport.Principal{Name: "other", Permissions: before.Permissions, Personalities: before.Personalities}, true, auth.ErrWithdrawn},
		{"fewer permissions", time.Minute, sallyport.Principal{Name: "ci", Personalities: before.Personalities}, true, auth.ErrWithdrawn},
		{"no role", time.Minute, sallyport.Principal{Name: "ci", Permissions: before.Permissions, Personalities: []string{}}, true, auth.ErrWithdrawn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				read := errors.New("not read")
				d := changingDirectory{func() (sallyport.Principal, bool) {
					if asked.Add(1) == 1 {
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

// TestB5_EveryOpenAnswerEndsWithItsToken has a client wait for the end of an
// answer while its token stops counting, in every way and with every method.
func TestB5_EveryOpenAnswerEndsWithItsToken(t *testing.T) {
	const pause = 100 * time.Millisecond
	ci := sallyport.Principal{Name: "ci", Permissions: []string{"a:read"}}
	for _, method := range []string{"GET", "POST", "DELETE"} {
		for _, tt := range []struct {
			name  string
			after sallyport.Principal
			known bool
			err   error
			stops bool
			ends  bool
		}{
			{name: "nothing changed", after: ci, known: true},
			{name: "more permissions", after: sallyport.Principal{Name: "ci", Permissions: []string{"a:read", "b:read"}}, known: true},
			{name: "revoked", ends: true},
			{name: "the token of another", after: sallyport.Principal{Name: "other"}, known: true, ends: true},
			{name: "stopped", after: ci, known: true, stops: true, ends: true},
			{name: "it is not known", err: errors.New("locked"), ends: true},
		} {
			t.Run(method+" "+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					changed := time.Now().Add(time.Minute)
					tokens := tokensFunc(func() (sallyport.Principal, bool, error) {
						if time.Now().Before(changed) {
							return ci, true, nil
						}
						return tt.after, tt.known, tt.err
					})
					g, err := auth.NewGuard("127.0.0.1:7331", tokens, &auth.GuardOptions{Pause: pause, Stands: func(context.Context, *sallyport.Principal) (bool, error) {
						return !tt.stops || time.Now().Before(changed), nil
					}})
					if err != nil {
						t.Fatal(err)
					}
					ended := time.Hour
					h := g.Protect(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
						select {
						case <-r.Context().Done():
							ended = time.Since(changed)
							if !errors.Is(context.Cause(r.Context()), auth.ErrWithdrawn) {
								t.Errorf("the answer ended because of %v, want %v", context.Cause(r.Context()), auth.ErrWithdrawn)
							}
						case <-time.After(10 * time.Minute):
						}
					}))
					r := httptest.NewRequest(method, "http://127.0.0.1:7331/x", nil)
					r.Header.Set("Content-Type", "application/json")
					r.Header.Set("Authorization", "Bearer token")
					h.ServeHTTP(httptest.NewRecorder(), r)
					most := 3 * pause
					if tt.err != nil {
						most = 6 * time.Second
					}
					if late := ended; tt.ends && (late < 0 || late > most) || !tt.ends && ended != time.Hour {
						t.Errorf("the answer ended %v after the change, want an end %v", ended, tt.ends)
					}
				})
			})
		}
	}
}

// tokensFunc answers the same to every token.
type tokensFunc func() (sallyport.Principal, bool, error)

func (f tokensFunc) Principal(context.Context, string) (sallyport.Principal, bool, error) { return f() }
