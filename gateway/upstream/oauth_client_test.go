package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/registry"
)

// kept is a store of values that a test can inspect.
type kept struct {
	mu sync.Mutex
	m  map[string]string
}

func (k *kept) Get(_ context.Context, name string) (string, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.m[name]
	return v, ok, nil
}

func (k *kept) Put(_ context.Context, name, value string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.m[name] = value
	return nil
}

func (k *kept) PutIfAbsent(_ context.Context, name, value string) (string, bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.m[name]; ok {
		return v, false, nil
	}
	k.m[name] = value
	return "", true, nil
}

func (k *kept) Swap(_ context.Context, name, old, value string) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.m[name] != old {
		return false, nil
	}
	k.m[name] = value
	return true, nil
}

func (k *kept) Delete(_ context.Context, name string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.m, name)
	return nil
}

// recorded keeps what would go into the record.
type recorded struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *recorded) Record(_ context.Context, e *audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return json.NewEncoder(&r.text).Encode(e)
}

func (r *recorded) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// both asks the vault, then the secrets of the operator.
type both struct {
	*oauth.Vault
	rest secrets
}

func (b both) Secret(ctx context.Context, ref string) (sallyport.Secret, bool, error) {
	if s, ok, err := b.Vault.Secret(ctx, ref); ok || err != nil {
		return s, ok, err
	}
	return b.rest.Secret(ctx, ref)
}

// client is a gate before a server with OAuth, in a role that reaches the
// loopback.
type client struct {
	t       testing.TB
	issuing *issuing
	mounts  *upstream.Mounts
	server  upstream.Server
	backend *sallyport.Backends
	kept    *kept
	record  *recorded
	policy  *sallyport.NetworkPolicy
	secrets secrets
	tools   *registry.Registry
	person  sallyport.Input // the person that is asked; nil for none

	mu      sync.Mutex
	results []sallyport.Result
	dialled []string
}

// dial reaches the loopback and nothing else.
func (c *client) dial(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	c.mu.Lock()
	c.dialled = append(c.dialled, to.String())
	c.mu.Unlock()
	if !to.Addr().IsLoopback() {
		return nil, errors.New("a test reaches no host")
	}
	return (&net.Dialer{}).DialContext(ctx, network, to.String())
}

// newClient declares the server of i; declare changes the declaration.
func newClient(t testing.TB, i *issuing, declare func(*upstream.Server)) *client {
	t.Helper()
	c := &client{
		t: t, issuing: i, kept: &kept{m: map[string]string{}}, record: &recorded{},
		secrets: secrets{"far/secret": "the-secret-of-the-client", "far/key": testKey},
		policy:  &sallyport.NetworkPolicy{Allow: []string{host(i.issuer.URL), host(i.resource.URL)}, AllowPrivate: true},
	}
	c.server = upstream.Server{
		Name: "far", URL: i.resource.URL + "/mcp", OAuth: &oauth.Server{ClientID: "sallyport-here"},
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{host(i.issuer.URL)}}},
	}
	if declare != nil {
		declare(&c.server)
	}
	// A credential of the operator is only sent to an issuer that is written
	// down.
	if o := c.server.OAuth; o.Issuer == "" && o.ClientSecret+o.PrivateKey+o.Assertion != "" {
		o.Issuer = i.issuer.URL
	}
	t.Cleanup(c.noSecret)
	c.open()
	return c
}

// noSecret searches everything that was kept, recorded, logged, answered and
// requested for secrets that must not appear.
func (c *client) noSecret() {
	c.record.mu.Lock()
	defer c.record.mu.Unlock()
	texts := map[string]string{
		"the record and the log": c.record.text.String(), "the state": fmt.Sprint(c.kept.m), "the results": fmt.Sprintf("%+v", c.results),
		"the addresses": fmt.Sprint(c.issuing.urls),
	}
	for where, text := range texts {
		for _, secret := range []string{"access-token-number", "refresh-token-number", "the-code-number", "the-id-token", "the-secret-of-the-client", "the-new-secret"} {
			if i := strings.Index(text, secret); i >= 0 {
				c.t.Errorf("%s: %q in …%s…", where, secret, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}

// open opens the gate, as a start of the program does.
func (c *client) open() {
	c.t.Helper()
	vault, err := oauth.NewVault(c.kept, []byte(strings.Repeat("k", 32)))
	if err != nil {
		c.t.Fatal(err)
	}
	cleaner, err := output.New(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.mounts, err = upstream.New([]upstream.Server{c.server}, &upstream.Options{
		Cleaner: cleaner, Tokens: vault, Logger: slog.New(slog.NewTextHandler(c.record, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = c.mounts.Close() })
	c.backend = &sallyport.Backends{
		Network: &sallyport.NetworkBackend{Dial: c.dial}, Secrets: both{vault, c.secrets},
		Personalities: roles{"some": {Name: "some", MCPServers: []string{"far"}, Network: c.policy, Flow: sallyport.Flow{AfterUntrustedPrivate: sallyport.FlowAllow}}},
	}
	c.tools = c.registry()
}

func (c *client) registry() *registry.Registry {
	c.t.Helper()
	r, err := registry.New(c.backend, &registry.Options{Workspace: c.t.TempDir(), Recorder: c.record})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func (c *client) run(r *registry.Registry, principal, tool string, args any) sallyport.Result {
	text, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	res := r.Call(c.t.Context(), &sallyport.Caller{
		Principal: sallyport.Principal{Name: principal}, Session: "s", Personality: "some", Platform: sallyport.PlatformGo, Input: c.person,
	}, sallyport.Request{Tool: tool, Args: text})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results = append(c.results, res)
	return res
}

// discover asks the server for its tools as the local user, and mounts them.
func (c *client) discover() sallyport.Result {
	c.t.Helper()
	finder := c.registry()
	if err := finder.Register(c.mounts.Discovery()...); err != nil {
		c.t.Fatal(err)
	}
	res := c.run(finder, "local", upstream.DiscoveryName("far"), object{})
	if res.OK {
		tools, _ := c.mounts.Tools()
		if err := c.tools.Register(tools...); err != nil {
			c.t.Fatal(err)
		}
	}
	return res
}

func (c *client) echo(principal, text string) sallyport.Result {
	return c.run(c.tools, principal, "mcp__far__echo", object{"text": text})
}

const redirectURL = "http://127.0.0.1:9/callback"

// login logs a principal in, with a person who opens every page to which they
// are sent.
func (c *client) login(principal string) sallyport.Result {
	c.t.Helper()
	return c.loginAsking(principal, func(_ context.Context, what oauth.Consent) (url.Values, error) { return visitPage(what.URL) })
}

func (c *client) loginAsking(principal string, ask func(context.Context, oauth.Consent) (url.Values, error)) sallyport.Result {
	c.t.Helper()
	r := c.registry()
	tool, err := c.mounts.Login("far", oauth.LoginOptions{Redirect: redirectURL, Ask: ask}, func(oauth.Status) {})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := r.Register(tool); err != nil {
		c.t.Fatal(err)
	}
	return c.run(r, "local", tool.Name, object{"principal": principal})
}

// visitPage acts as a browser. It returns the redirect of the page instead of
// following it, because no server listens there.
func visitPage(page string) (url.Values, error) {
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(page)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	to, err := resp.Location()
	if err != nil || !strings.HasPrefix(to.String(), redirectURL+"?") {
		return nil, errors.New("the page leads nowhere")
	}
	return to.Query(), nil
}

func host(address string) string {
	u, _ := url.Parse(address)
	return u.Host
}
