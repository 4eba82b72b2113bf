package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/internal/dashboard"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// kit is a server over a small registry, with its record, behind a guard.
type kit struct {
	*httpapi.Server
	t        testing.TB
	registry *registry.Registry
	// dashboard gets the progress of calls.
	dashboard dashboard.Hub
	record    *record
	files     *store
	state     *memory.Store
	site      *httptest.Server
	tokens    tokens
	started   chan string // the arguments of a hold call that runs
	ended     chan error  // why a hold call ended
}

// record keeps events in memory.
type record struct {
	mu     sync.Mutex
	events []audit.Event
}

func (r *record) Record(_ context.Context, e *audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, *e)
	return nil
}

// outcome returns the recorded outcome of a call.
func (r *record) outcome(t testing.TB, call string) audit.Event {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == audit.KindOutcome && e.CallID == call {
			return e
		}
	}
	t.Errorf("the call %q has no recorded outcome", call)
	return audit.Event{}
}

// tokens are principals by token.
type tokens map[string]sallyport.Principal

func (t tokens) Principal(_ context.Context, token string) (sallyport.Principal, bool, error) {
	p, ok := t[token]
	return p, ok, nil
}

// roles are personalities by name.
type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// store keeps files in memory, up to 1 KiB each.
type store struct {
	mu    sync.Mutex
	files map[string][]byte
}

func (s *store) storeAttachment(_ context.Context, name string, kind sallyport.AttachmentKind, r io.Reader) (sallyport.Attachment, func(), error) {
	text, err := io.ReadAll(io.LimitReader(r, 1025))
	if err != nil {
		return sallyport.Attachment{}, nil, err
	}
	if len(text) > 1024 {
		return sallyport.Attachment{}, nil, fmt.Errorf("disk quota of /var/private exceeded")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := fmt.Sprintf("ref-%d", len(s.files))
	s.files[ref] = text
	return sallyport.Attachment{Ref: ref, Kind: kind, Name: name, Bytes: int64(len(text))}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.files, ref)
	}, nil
}

func (s *store) Open(_ context.Context, ref string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.files[ref]
	if !ok {
		return nil, fmt.Errorf("no file %s", ref)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files)
}

// newKit starts a server; nil options keep files. Its tokens are the names of
// its principals.
func newKit(t testing.TB, o *httpapi.Options) *kit {
	t.Helper()
	return newKitFrom(t, o, func(*store) {})
}

// newKitFrom is newKit, with options that need its files.
func newKitFrom(t testing.TB, o *httpapi.Options, complete func(*store)) *kit {
	t.Helper()
	k := &kit{
		t: t, record: &record{}, files: &store{files: map[string][]byte{}},
		started: make(chan string, 100), ended: make(chan error, 100),
		tokens: tokens{
			"alice":   {Name: "alice", Permissions: []string{"files:write", "mail:send"}},
			"watcher": {Name: "watcher", Permissions: []string{"progress:read"}},
			"bob":     {Name: "bob", Personalities: []string{"reader"}},
			"carol":   {Name: "carol", Permissions: []string{"files:write", "mail:send"}},
		},
	}
	var err error
	if k.state, err = memory.New(nil); err != nil {
		t.Fatal(err)
	}
	k.registry, err = registry.New(&sallyport.Backends{
		Personalities: roles{
			"default": {Name: "default"}, "reader": {Name: "reader", Toolset: []string{"echo", "whoami"}},
			"held": {Name: "held", Approvals: &sallyport.Approvals{Require: []string{"echo"}, Wait: time.Nanosecond}},
		},
		Attachments: k.files, Network: &sallyport.NetworkBackend{},
	}, &registry.Options{Recorder: k.record, Approvals: k.state.Approvals(), Limiter: k.state, Dashboard: &k.dashboard})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.registry.Register(k.tools()...); err != nil {
		t.Fatal(err)
	}
	complete(k.files)
	own := httpapi.Options{Uploads: k.files.storeAttachment, Version: "v1.2.3", Dashboard: &k.dashboard}
	if o != nil {
		own = *o
	}
	own.Personality = "default"
	if k.Server, err = httpapi.New(k.registry, &own); err != nil {
		t.Fatal(err)
	}
	k.serve()
	return k
}

// serve puts the server behind a guard, wired from its table.
func (k *kit) serve() {
	mux, err := httpapi.NewMux(k.Routes())
	if err != nil {
		k.t.Fatal(err)
	}
	k.site = httptest.NewUnstartedServer(nil)
	g, err := auth.NewGuard(k.site.Listener.Addr().String(), k.tokens, &auth.GuardOptions{
		Open: mux.Open(), Multipart: mux.Multipart, Refuse: httpapi.Refuse,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	k.site.Config.Handler = g.Protect(mux)
	k.site.Start()
	k.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // what still runs is cancelled
		_ = k.Shutdown(ctx)
		k.site.Close()
		if err := errors.Join(k.registry.Close(context.Background()), k.state.Close()); err != nil {
			k.t.Error(err)
		}
	})
}

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	text   string
	body   struct {
		Success      bool            `json:"success"`
		Data         json.RawMessage `json:"data"`
		Error        string          `json:"error"`
		Code         sallyport.Code  `json:"code"`
		CallID       string          `json:"call_id"`
		RetryAfterMS *int64          `json:"retry_after_ms"`
		ApprovalID   string          `json:"approval_id"`
		ExpiresAt    *time.Time      `json:"expires_at"`
		CostUSD      float64         `json:"cost_usd"`
		Status       int             `json:"status"`
	}
}

// do sends a request. Headers are pairs; an empty value removes one.
func (k *kit) do(method, path, body string, headers ...string) reply {
	k.t.Helper()
	res := k.open(method, path, strings.NewReader(body), headers...)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	out := reply{status: res.StatusCode, header: res.Header, text: string(text)}
	if strings.HasPrefix(string(text), `{"success"`) {
		if err := json.Unmarshal(text, &out.body); err != nil {
			k.t.Fatalf("%s %s answered %q: %v", method, path, text, err)
		}
	}
	return out
}

// open sends a request and leaves its answer to be read.
func (k *kit) open(method, path string, body io.Reader, headers ...string) *http.Response {
	k.t.Helper()
	r, err := http.NewRequestWithContext(k.t.Context(), method, k.site.URL+path, body)
	if err != nil {
		k.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer alice")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", httpapi.ContentJSON)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := k.site.Client().Do(r)
	if err != nil {
		k.t.Fatal(err)
	}
	return res
}

// execute posts a body to an action.
func (k *kit) execute(id, body string, headers ...string) reply {
	k.t.Helper()
	return k.do(http.MethodPost, "/v1/actions/"+id+"/execute", body, headers...)
}

// pooled is a transport that opens a bounded number of connections, so that
// many clients do not need as many files.
func pooled(t testing.TB, most int) http.RoundTripper {
	tr := &http.Transport{MaxConnsPerHost: most, MaxIdleConnsPerHost: most}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}
