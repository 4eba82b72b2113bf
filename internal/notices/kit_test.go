package notices

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/store/memory"
)

const (
	// signing is the secret of the specification's own example.
	signing = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	// hidden is a secret that must not be sent.
	hidden = "correct-horse-battery-staple-9000"
)

// desk is the held calls of a test, and what its sender did with them.
type desk struct {
	t *testing.T
	*Sender

	mu      sync.Mutex
	calls   map[string]sallyport.Approval
	log     bytes.Buffer
	mails   []sallyport.Message
	refused error // of the relay
	lost    map[string]int64
}

// lockedWriter is the log of a desk.
type lockedWriter struct{ d *desk }

func (w lockedWriter) Write(p []byte) (int, error) {
	w.d.mu.Lock()
	defer w.d.mu.Unlock()
	return w.d.log.Write(p)
}

// newDesk returns a sender whose pauses are short, after a test has changed its options.
func newDesk(t *testing.T, change func(*Options)) *desk {
	t.Helper()
	d := &desk{t: t, calls: map[string]sallyport.Approval{}, lost: map[string]int64{}}
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	secret := map[string]string{"notices/chat": signing, "other/key": hidden, "notices/short": "whsec_c2hvcnQ=", "notices/bare": hidden}
	o := &Options{
		Get: func(_ context.Context, id string) (sallyport.Approval, error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			a, ok := d.calls[id]
			if !ok {
				return a, sallyport.ErrApprovalUnknown
			}
			a.State = a.StateAt(time.Now())
			return a, nil
		},
		Waiting: func(context.Context) (list []sallyport.Approval, _ error) {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, id := range slices.Sorted(maps.Keys(d.calls)) {
				if a := d.calls[id]; a.State == sallyport.ApprovalPending {
					list = append(list, a)
				}
			}
			return list, nil
		},
		Settings: state.Settings(),
		Secret: func(_ context.Context, ref string) (sallyport.Secret, bool, error) {
			v, ok := secret[ref]
			return sallyport.NewSecret(v), ok, nil
		},
		Known: func(context.Context) ([]sallyport.Secret, error) {
			return []sallyport.Secret{sallyport.NewSecret(signing), sallyport.NewSecret(hidden)}, nil
		},
		SendMail: func(_ context.Context, _ string, m sallyport.Message) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.refused == nil {
				d.mails = append(d.mails, m)
			}
			return d.refused
		},
		Page:    func(context.Context) string { return "https://gate.example.com" },
		Command: func(id string) string { return "sallyport approvals approve " + id },
		Clean:   text.PrintableLine,
		RecordLoss: func(name string, count int64) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.lost[name] += count
		},
		Logger: slog.New(slog.NewTextHandler(lockedWriter{d}, nil)),
		pauses: pauses{first: time.Millisecond, most: 4 * time.Millisecond, look: 5 * time.Millisecond, record: 5 * time.Millisecond},
	}
	if change != nil {
		change(o)
	}
	d.Sender = New(o)
	t.Cleanup(func() { d.end(); d.Close(t.Context()) })
	return d
}

// hold announces a held call.
func (d *desk) hold(id string, change func(*sallyport.Approval)) {
	a := sallyport.Approval{
		ID: id, Digest: id, State: sallyport.ApprovalPending, Tool: "email-send", Principal: "local", Personality: "assistant", CallID: "call-" + id,
		Args: `{"to":"bob@example.com"}`, Created: time.Now(), Expires: time.Now().Add(time.Hour),
	}
	if change != nil {
		change(&a)
	}
	d.mu.Lock()
	d.calls[id] = a
	d.mu.Unlock()
	d.Announce(&a)
}

// decide decides about a held call, as another process does.
func (d *desk) decide(id string, approve bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.calls[id]
	if err := a.Decide(time.Now(), "page:alice", approve, ""); err != nil {
		d.t.Error(err)
	}
	d.calls[id] = a
}

func (d *desk) logged() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// waitFor waits until something holds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 30_000 { // only a failing test reaches this bound
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s: it does not come", what)
}

// sent is a webhook that arrived.
type sent struct {
	id, body string
	header   http.Header
}

// inbox is a receiver of webhooks on this machine.
type inbox struct {
	*httptest.Server
	mu  sync.Mutex
	got []sent
}

// newInbox returns a receiver that answers with a handler, nil for 204.
func newInbox(t *testing.T, answer http.HandlerFunc) *inbox {
	t.Helper()
	in := &inbox{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		in.mu.Lock()
		in.got = append(in.got, sent{r.Header.Get("webhook-id"), string(body), r.Header})
		in.mu.Unlock()
		if answer == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) all() []sent {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]sent(nil), in.got...)
}

// ids lists what arrived, each with its event.
func (in *inbox) ids() string {
	var list []string
	for _, s := range in.all() {
		list = append(list, strings.TrimPrefix(s.id, "msg_"))
	}
	return strings.Join(list, " ")
}

// data returns what a webhook says of its call.
func (s *sent) data(t *testing.T) map[string]any {
	t.Helper()
	var p struct {
		Type string         `json:"type"`
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal([]byte(s.body), &p); err != nil || p.Type != "call."+fmt.Sprint(p.Data["event"]) {
		t.Fatalf("body %s: %v", s.body, err)
	}
	return p.Data
}

func hookTo(url string) config.Notice {
	return config.Notice{URL: url + "/hook?key=hunter2", Secret: "notices/chat", Events: []string{config.NoticeHeld}, PerHour: 20}
}

func one(c config.Notice) map[string]config.Notice { return map[string]config.Notice{"chat": c} }
