package notices

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
)

// The vector stands in the specification of Standard Webhooks.
func TestSignatureIsThatOfTheSpecification(t *testing.T) {
	key, err := DecodeSecret(sallyport.NewSecret(signing))
	if err != nil {
		t.Fatal(err)
	}
	got := signBody(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("signature = %s, want %s", got, want)
	}
	for _, bad := range []string{"", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_c2hvcnQ=", "whsec_" + strings.Repeat("A", 100), "whsec_%%%"} {
		if _, err := DecodeSecret(sallyport.NewSecret(bad)); err == nil || len(bad) > 10 && strings.Contains(err.Error(), bad) {
			t.Errorf("DecodeSecret(%q) = %v, want an error without the secret", bad, err)
		}
	}
}

// The receiver that the guide shows verifies what is sent.
func TestTheReceiverOfTheGuideVerifies(t *testing.T) {
	in := newInbox(t, nil)
	d := newDesk(t, nil)
	d.Replace(one(hookTo(in.URL)))
	d.hold("a1", nil)
	waitFor(t, "a webhook", func() bool { return len(in.all()) == 1 })
	got := in.all()[0]
	if !verify(signing, got.header, []byte(got.body)) {
		t.Errorf("the receiver of the guide refuses %+v", got)
	}
	if verify(signing, got.header, []byte(got.body+" ")) || verify("whsec_"+strings.Repeat("A", 32), got.header, []byte(got.body)) {
		t.Error("the receiver of the guide takes another body or another secret")
	}
	old := got.header.Clone()
	old.Set("webhook-timestamp", "1614265330")
	if verify(signing, old, []byte(got.body)) {
		t.Error("the receiver of the guide takes an old webhook")
	}
}

func TestWebhookSaysWhatWaits(t *testing.T) {
	in := newInbox(t, nil)
	d := newDesk(t, nil)
	c := hookTo(in.URL)
	c.Events = []string{config.NoticeHeld, config.NoticeDecided, config.NoticeExpired}
	d.Replace(one(c))
	d.hold("a1", func(a *sallyport.Approval) { a.Why = "it read \u202e" + hidden + "\n\x1b[31mred" })
	d.hold("a1", nil) // a repeated call is no news
	waitFor(t, "held", func() bool { return in.ids() == "a1_held" })
	got := in.all()[0]
	data := got.data(t)
	delete(data, "held")
	delete(data, "expires")
	want := map[string]any{
		"id": "a1", "event": "held", "state": "pending", "tool": "email-send", "principal": "local", "role": "assistant",
		"why": "it read [REDACTED:secret] red", "link": "https://gate.example.com/#held-a1",
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if strings.Contains(got.body, hidden) {
		t.Errorf("the body has a secret: %s", got.body)
	}
	d.decide("a1", false)
	waitFor(t, "decided", func() bool { return in.ids() == "a1_held a1_decided" })
	data = in.all()[1].data(t)
	if data["state"] != "denied" || data["decided_by"] != "page:alice" || data["link"] != "https://gate.example.com/page/calls/call-a1" {
		t.Errorf("data of the decision = %v", data)
	}
	d.hold("b2", func(a *sallyport.Approval) { a.Expires = time.Now().Add(30 * time.Millisecond) })
	waitFor(t, "expired", func() bool { return strings.Contains(in.ids(), "b2_expired") })
	if strings.Contains(in.ids(), "b2_decided") {
		t.Errorf("webhooks = %s", in.ids())
	}
}

func TestArgumentsAreSentWhenTheConfigurationSaysSo(t *testing.T) {
	in := newInbox(t, nil)
	d := newDesk(t, nil)
	c := hookTo(in.URL)
	c.Arguments = true
	without := hookTo(in.URL)
	d.Replace(map[string]config.Notice{"with": c})
	d.hold("a1", func(a *sallyport.Approval) { a.Args = `{"x":"` + hidden + strings.Repeat("ä", maxArguments) + `"}` })
	waitFor(t, "a webhook", func() bool { return len(in.all()) == 1 })
	got := in.all()[0]
	args := fmt.Sprint(got.data(t)["arguments"])
	if !strings.HasPrefix(args, `{"x":"`) || strings.Contains(args, hidden) || got.data(t)["arguments_cut"] != true || len(args) > maxArguments+len(hidden) {
		t.Errorf("arguments = %.80s… of %d bytes", args, len(args))
	}
	d.Replace(map[string]config.Notice{"without": without})
	d.hold("b2", nil)
	waitFor(t, "another webhook", func() bool { return len(in.all()) == 2 })
	if got := in.all()[1]; strings.Contains(got.body, "bob@example.com") || strings.Contains(got.body, "arguments") {
		t.Errorf("body = %s, want no arguments", got.body)
	}
}

func TestOnlyWhatAReceiverWants(t *testing.T) {
	in := newInbox(t, nil)
	d := newDesk(t, nil)
	c := hookTo(in.URL)
	c.Roles, c.Tools = []string{"assistant"}, []string{"email-send", "mcp__bank__*"}
	d.Replace(one(c))
	for i, tool := range []string{"write_file", "mcp__bank__pay", "mcp__bank2__pay", "email-send", "email-send2"} {
		d.hold(fmt.Sprintf("t%d", i), func(a *sallyport.Approval) { a.Tool = tool })
	}
	d.hold("r1", func(a *sallyport.Approval) { a.Personality = "other" })
	d.hold("end", nil)
	waitFor(t, "the last", func() bool { return strings.HasSuffix(in.ids(), "end_held") })
	if got := in.ids(); got != "t1_held t3_held end_held" {
		t.Errorf("webhooks = %s", got)
	}
}

// A try that failed is made again, with the same id and body and a signature of its own
// time; it holds up no other notice.
func TestRetriesHaveOneID(t *testing.T) {
	var refused atomic.Int32
	in := newInbox(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("webhook-id") == "msg_a1_held" && refused.Add(1) <= 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	d := newDesk(t, nil)
	d.Replace(one(hookTo(in.URL)))
	d.hold("a1", nil)
	d.hold("b2", nil)
	waitFor(t, "both", func() bool { return d.Counts()["chat"].Sent == 2 })
	var bodies []string
	for _, s := range in.all() {
		if s.id == "msg_a1_held" {
			bodies = append(bodies, s.body)
		}
	}
	if len(bodies) != 4 || bodies[0] != bodies[3] || in.ids() == "a1_held a1_held a1_held a1_held b2_held" {
		t.Errorf("webhooks = %s, want four equal ones of a1, and b2 not behind them", in.ids())
	}
}

func TestPausesOfAReceiver(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999999999": 0, "Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
	} {
		if got := readPause(value, now); got != want {
			t.Errorf("readPause(%q) = %s, want %s", value, got, want)
		}
	}
	p := pauses{}.withDefaults()
	for fails, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 50: p.most} {
		if got := p.pauseAfter(fails); got < most/2 || got > most {
			t.Errorf("after(%d) = %s, want %s to %s", fails, got, most/2, most)
		}
	}
	if p.asked > 10*time.Minute {
		t.Errorf("a receiver may ask for %s", p.asked)
	}
}

// 410 ends a webhook until the configuration changes. A redirect is not followed.
func TestGoneAndElsewhere(t *testing.T) {
	elsewhere := newInbox(t, nil)
	var status atomic.Int32
	status.Store(http.StatusGone)
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(int(status.Load()))
	})
	d := newDesk(t, nil)
	d.Replace(one(hookTo(in.URL)))
	d.hold("a1", nil)
	waitFor(t, "the end", func() bool { return strings.Contains(d.logged(), "410") && d.Counts()["chat"].Lost == 1 })
	d.hold("b2", nil)
	waitFor(t, "a loss", func() bool { return d.Counts()["chat"].Lost == 2 })
	status.Store(http.StatusTemporaryRedirect)
	d.Replace(one(hookTo(in.URL)))
	d.hold("c3", nil)
	waitFor(t, "the last try", func() bool { return d.Counts()["chat"].Lost == 3 })
	if n := strings.Count(in.ids(), "c3_held"); n != maxTries || len(elsewhere.all()) != 0 || strings.Contains(in.ids(), "b2") {
		t.Errorf("%d tries, %d webhooks elsewhere, all %s", n, len(elsewhere.all()), in.ids())
	}
	waitFor(t, "a record", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return d.lost["chat"] == 3 })
}

// A receiver with TLS has a certificate that the machine trusts.
func TestTheCertificateCounts(t *testing.T) {
	in := newInbox(t, nil)
	secure := httptest.NewTLSServer(in.Config.Handler)
	t.Cleanup(secure.Close)
	d := newDesk(t, nil)
	d.Replace(one(hookTo(secure.URL)))
	d.hold("a1", nil)
	waitFor(t, "a loss", func() bool { return d.Counts()["chat"].Lost == 1 })
	trusting := newDesk(t, func(o *Options) {
		o.Network.RootCAs = x509.NewCertPool()
		o.Network.RootCAs.AddCert(secure.Certificate())
	})
	trusting.Replace(one(hookTo(secure.URL)))
	trusting.hold("b2", nil)
	waitFor(t, "a webhook", func() bool { return trusting.Counts()["chat"].Sent == 1 })
	if in.ids() != "b2_held" {
		t.Errorf("webhooks = %s", in.ids())
	}
}

// What reaches another machine without TLS, metadata of a cloud, or the gate itself is not
// connected.
func TestWhereAWebhookMayGo(t *testing.T) {
	in := newInbox(t, nil)
	own := netip.MustParseAddrPort(in.Listener.Addr().String())
	for name, tt := range map[string]struct {
		url  string
		at   string
		own  bool
		want string
	}{
		"another machine without TLS": {url: "http://localhost:80", at: "93.184.216.34", want: "another machine"},
		"private without TLS":         {url: "http://localhost:80", at: "10.0.0.7", want: "another machine"},
		"metadata":                    {url: "https://chat.example.com", at: "169.254.169.254", want: "metadata"},
		"the gate":                    {url: in.URL, own: true, want: "the gate itself"},
	} {
		t.Run(name, func(t *testing.T) {
			dialled := atomic.Bool{}
			d := newDesk(t, func(o *Options) {
				if tt.at != "" {
					o.Network.Resolve = func(context.Context, string) ([]netip.Addr, error) {
						return []netip.Addr{netip.MustParseAddr(tt.at)}, nil
					}
				}
				o.Network.RefuseAddress = func(a netip.AddrPort) (string, error) {
					if tt.own && a == own {
						return "an address of the gate itself", nil
					}
					dialled.Store(tt.own)
					return "", nil
				}
			})
			h := &hook{s: d.Sender, c: hookTo(tt.url)}
			defer h.closeIdle()
			a := sallyport.Approval{ID: "a1", Tool: "x", Principal: "local", Created: time.Now(), Expires: time.Now().Add(time.Hour)}
			err := h.sendOne(t.Context(), newNotice(config.NoticeHeld, &a, false))
			if !errors.Is(err, sallyport.ErrHostNotAllowed) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("send = %v, want a refusal with %q", err, tt.want)
			}
			if strings.Contains(fmt.Sprint(err), "hunter2") || len(in.all()) != 0 || dialled.Load() {
				t.Errorf("send = %v with %d webhooks", err, len(in.all()))
			}
		})
	}
}
