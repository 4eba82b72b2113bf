package action

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/transport"
)

// HTTP is a request with templates. In each text {name} stands for the
// argument of that name; in header values, query values and the body
// {secret:ref} stands for a secret. Brackets that are meant as such are
// written twice.
type HTTP struct {
	// Method is GET, HEAD, POST, PUT, PATCH or DELETE; empty means GET, or
	// POST when there is a body.
	Method string
	// URL is the absolute http or https address. Placeholders stand in path
	// segments and query values only.
	URL string
	// Query is added to the query of the URL: names to templates. An entry
	// whose argument is absent is left out; a list repeats the name.
	Query map[string]string
	// Headers maps names to templates. An entry whose argument is absent is
	// left out.
	Headers map[string]string
	// Body is JSON whose texts are templates; nil sends none. A text that is
	// one placeholder becomes the argument with its type. A member whose
	// argument is absent is left out.
	Body json.RawMessage
	// Response says what of the answer is the result.
	Response Response
}

// Response says what of a JSON answer is the result. The zero value takes the
// whole: an object becomes the structured part and its text the value, a
// string the value, anything else the member result of the structured part.
type Response struct {
	// Value is the JSON pointer of the value; empty means the default.
	Value string
	// Structured is the JSON pointer of the structured part; empty means the
	// default.
	Structured string
}

type compiledRequest struct {
	method, scheme, host string
	path                 []template
	query, headers       []namedTemplate
	body                 any // JSON in which texts are templates; nil sends none
	response             Response
	secrets              []string
	parse                bool // the answer has to be JSON
	price                price
}

type namedTemplate struct {
	name  string
	value template
}

func (r *compiledRequest) mayRetry() bool {
	return r.method == http.MethodGet || r.method == http.MethodHead
}

func (b *toolBuilder) compileHTTP(t *sallyport.Tool, cost price) {
	h := b.d.Handler.HTTP
	c := handlerCompiler{b: b, at: "/handler/http", params: b.paramNames(), secrets: map[string]bool{}}
	r := c.compileRequest(h)
	r.parse, r.price = t.Returns != nil || cost.at != "", cost
	b.checkHosts(t, r)
	if r.scheme == "http" && len(c.secrets) > 0 && !isLocal(r.host) {
		b.addFault("/handler/http/url", "a secret is not sent without encryption: expected https, or an address of this machine")
	}
	r.secrets = sortedKeys(c.secrets)
	for _, ref := range r.secrets {
		t.Touches = append(t.Touches, sallyport.Touch{Capability: "secrets", Item: ref})
	}
	t.Revision = revisionOf(h)
	switch {
	case r.mayRetry():
		t.Idempotent = true
		t.ReadOnly = t.ReadOnly || !group.AsksToChange(&t.Capabilities)
	case t.ReadOnly:
		b.addFault("/readOnly", "contradicts the method %s: a read-only action sends GET and HEAD only", r.method)
	}
	retried := t.Idempotent
	t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		return r.sendRequest(ctx, c, retried)
	}
}

// checkHosts checks the host of the URL against the declared ones, and declares
// it when none are.
func (b *toolBuilder) checkHosts(t *sallyport.Tool, r *compiledRequest) {
	if r.host == "" {
		return
	}
	host, port, err := reach.SplitHostPort(r.host)
	if err != nil {
		return // a fault of the URL
	}
	if port == 0 {
		port = 443
		if r.scheme == "http" {
			port = 80
		}
	}
	t.Touches = []sallyport.Touch{{Capability: "network", Item: r.scheme + "://" + r.host + "/"}}
	if t.Capabilities.Network == nil {
		t.Capabilities.Network = &sallyport.NetworkCapability{AllowedHosts: []string{r.host}}
		return
	}
	patterns, err := reach.ParseHosts(t.Capabilities.Network.AllowedHosts)
	if err != nil {
		b.addFault("/capabilities/network/allowedHosts", "%v", err)
		return
	}
	deferred := slices.ContainsFunc(patterns, reach.HostPattern.Any)
	if !deferred && !reach.NewHosts(patterns).Match(host, port) {
		b.addFault("/handler/http/url", "the host %s is not in capabilities.network.allowedHosts: add it there", r.host)
	}
}

// isLocal reports whether a host is this machine by its address.
func isLocal(host string) bool {
	name, _, err := reach.SplitHostPort(host)
	addr, bad := netip.ParseAddr(name)
	return err == nil && (name == "localhost" || bad == nil && addr.IsLoopback())
}

// checkSecret checks a secret of a template against the declared ones.
func (b *toolBuilder) checkSecret(at, ref string) {
	if !reach.MatchRef(b.d.Capabilities.Secrets, ref) {
		b.addFault(at, "the secret %s is not in capabilities.secrets: add it there", ref)
	}
}

func (r *compiledRequest) sendRequest(ctx context.Context, c *sallyport.Call, retried bool) (sallyport.Result, error) {
	v, err := r.readValues(ctx, c)
	if err != nil {
		return sallyport.Result{}, err
	}
	req, err := r.buildRequest(ctx, v)
	if err != nil {
		return sallyport.Result{}, err
	}
	c.Emit(sallyport.Progress{Message: r.method + " " + r.host})
	client := c.Network.Client()
	client.CheckRedirect = r.redirectPolicy(req)
	resp, err := client.Do(req)
	if err != nil {
		return sallyport.Result{Source: r.scheme + "://" + r.host + req.URL.EscapedPath()}, transport.Failure(ctx, err, r.newFailure)
	}
	defer func() { _ = resp.Body.Close() }() // Nothing was written.
	return r.readAnswer(ctx, resp, v, retried)
}

// redirectPolicy returns a policy that sends a body with secrets or arguments
// to no other origin than the one that the configuration names: a redirect that
// asks for the body again would pass it to whom the server likes. Other
// redirects are for the accessor to judge.
func (r *compiledRequest) redirectPolicy(first *http.Request) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, _ []*http.Request) error {
		if len(r.secrets) == 0 && r.mayRetry() {
			return nil
		}
		if next.URL.Scheme != first.URL.Scheme || !strings.EqualFold(next.URL.Host, first.URL.Host) {
			return http.ErrUseLastResponse
		}
		return nil
	}
}
