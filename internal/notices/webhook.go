package notices

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/transport"
)

const (
	// secretPrefix begins a secret of the Standard Webhooks specification.
	secretPrefix = "whsec_"
	// minKey and maxKey bound its bytes.
	minKey, maxKey = 24, 64
	// maxAnswer bounds an answer, in bytes. It is not read.
	maxAnswer = 4 << 10
)

// hook sends webhooks to an address.
type hook struct {
	s      *Sender
	c      config.Notice
	client *egress.Client // made when it is first needed
}

// payload is the body of a webhook.
type payload struct {
	Type      string      `json:"type"`
	Timestamp time.Time   `json:"timestamp"`
	Data      payloadData `json:"data"`
}

// payloadData is what a webhook says of a held call.
type payloadData struct {
	ID        string                  `json:"id"`
	Event     string                  `json:"event"`
	State     sallyport.ApprovalState `json:"state"`
	Tool      string                  `json:"tool"`
	Principal string                  `json:"principal"`
	Role      string                  `json:"role,omitempty"`
	Why       string                  `json:"why"`
	Held      time.Time               `json:"held"`
	Expires   time.Time               `json:"expires"`
	DecidedBy string                  `json:"decided_by,omitempty"`
	Link      string                  `json:"link,omitempty"`
	Arguments string                  `json:"arguments,omitempty"`
	Cut       bool                    `json:"arguments_cut,omitempty"`
}

// sendOne implements channel.
func (h *hook) sendOne(ctx context.Context, n *notice) error {
	ctx, cancel := context.WithTimeout(ctx, h.s.o.pauses.try)
	defer cancel()
	key, err := h.readKey(ctx)
	if err != nil {
		return err
	}
	if n.body == nil {
		if n.body, err = h.s.writePayload(ctx, n); err != nil {
			return err
		}
	}
	if err := h.openClient(); err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.c.URL, bytes.NewReader(n.body))
	if err != nil {
		return errors.New("the address of the webhook is none")
	}
	now := time.Now()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "sallyport")
	r.Header.Set("Webhook-Id", n.id)
	r.Header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	r.Header.Set("Webhook-Signature", signBody(key, n.id, now, n.body))
	binding := h.client.Bind(nil)
	// Not by http.Client: a redirect is an answer like any other.
	answer, err := binding.RoundTrip(r)
	if err != nil {
		return transport.Failure(ctx, err, func(what string, _ error) error { return errors.New(what) })
	}
	answer.Body.Close()
	return judgeAnswer(answer, now)
}

// judgeAnswer says what the status of an answer means.
func judgeAnswer(answer *http.Response, now time.Time) error {
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusGone:
		return errGone
	case status >= 300 && status < 400:
		return fmt.Errorf("it answers %d, and redirects are not followed", status)
	default:
		err := fmt.Errorf("it answers %d", status)
		if pause := readPause(answer.Header.Get("Retry-After"), now); pause > 0 {
			return laterError{err, pause}
		}
		return err
	}
}

// readPause reads the pause that a receiver asks for: seconds, or a date.
func readPause(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return at.Sub(now)
	}
	return 0
}

// readKey reads the secret that signs, now, so that a rotated one counts.
func (h *hook) readKey(ctx context.Context) ([]byte, error) {
	s, ok, err := h.s.o.Secret(ctx, h.c.Secret)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the secret %s cannot be read", h.c.Secret)
	case !ok:
		return nil, fmt.Errorf("the secret %s is not set", h.c.Secret)
	}
	key, err := DecodeSecret(s)
	if err != nil {
		return nil, fmt.Errorf("the secret %s: %w", h.c.Secret, err)
	}
	return key, nil
}

// DecodeSecret returns the key of a secret of the Standard Webhooks specification. The
// error does not repeat it.
func DecodeSecret(s sallyport.Secret) ([]byte, error) {
	rest, ok := strings.CutPrefix(s.Reveal(), secretPrefix)
	key, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(key) < minKey || len(key) > maxKey {
		return nil, fmt.Errorf("expected %s and %d to %d bytes in base64", secretPrefix, minKey, maxKey)
	}
	return key, nil
}

// signBody returns the signature of a body by the Standard Webhooks specification.
func signBody(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// openClient makes the client, which reaches the host of the address alone: no metadata or
// link-local address, nothing at which the gate listens, and without TLS this machine
// only.
func (h *hook) openClient() error {
	if h.client != nil {
		return nil
	}
	u, err := url.Parse(h.c.URL)
	if err != nil {
		return errors.New("the address of the webhook is none")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	network := h.s.o.Network
	refuse := func(a netip.AddrPort) (string, error) {
		if u.Scheme == "http" && !a.Addr().Unmap().IsLoopback() {
			return "an address of another machine, and the webhook has no TLS", nil
		}
		if network.RefuseAddress != nil {
			return network.RefuseAddress(a)
		}
		return "", nil
	}
	h.client, err = egress.New(sallyport.NetworkGrant{Allow: []string{net.JoinHostPort(u.Hostname(), port)}, AllowPrivate: true}, &egress.Options{
		DialOptions:      egress.DialOptions{Resolve: network.Resolve, Dial: network.Dial, RefuseAddress: refuse},
		MaxResponseBytes: maxAnswer, Timeout: h.s.o.pauses.try, RootCAs: network.RootCAs,
	})
	if err != nil {
		return errors.New("the host of the webhook cannot be reached by any grant")
	}
	return nil
}

func (h *hook) closeIdle() {
	if h.client != nil {
		h.client.Close()
	}
}

// writePayload returns the body of a webhook.
func (s *Sender) writePayload(ctx context.Context, n *notice) ([]byte, error) {
	clean, err := s.newCleaner(ctx)
	if err != nil {
		return nil, err
	}
	a := &n.call
	return json.Marshal(payload{"call." + n.event, n.at.UTC(), payloadData{
		ID: a.ID, Event: n.event, State: a.State, Tool: clean.cleanLine(a.Tool), Principal: clean.cleanLine(a.Principal), Role: clean.cleanLine(a.Personality), Why: clean.cleanLine(whyHeld(a)),
		Held: a.Created.UTC(), Expires: a.Expires.UTC(), DecidedBy: clean.cleanLine(a.DecidedBy), Link: s.linkTo(ctx, n), Arguments: clean.cleanArguments(a.Args), Cut: n.cut,
	}})
}
