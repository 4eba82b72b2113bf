package upstream_test

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"net/http"
	neturl "net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/conformance"
)

// asClient lists the scenarios of both versions of the suite, asNewerClient
// those that only the newer one has.
var (
	asClient = []string{
		"initialize", "tools_call", "sse-retry", "elicitation-sep1034-client-defaults", "auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3",
		"auth/basic-cimd", "auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined",
		"auth/scope-step-up", "auth/scope-retry-limit", "auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post",
		"auth/token-endpoint-auth-none", "auth/pre-registration", "auth/2025-03-26-oauth-metadata-backcompat",
		"auth/2025-03-26-oauth-endpoint-fallback", "auth/resource-mismatch", "auth/offline-access-scope",
		"auth/offline-access-not-supported", "auth/client-credentials-jwt", "auth/client-credentials-basic",
	}
	// Its name has changed.
	asOlderClient = []string{"auth/cross-app-access-complete-flow"}
	asNewerClient = []string{
		"auth/enterprise-managed-authorization", "auth/wif-jwt-bearer", "auth/dpop", "auth/dpop-nonce", "request-metadata", "auth/authorization-server-migration", "auth/iss-supported", "auth/iss-not-advertised",
		"auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized", "auth/metadata-issuer-mismatch",
		"sep-2322-client-request-state", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers", "json-schema-ref-no-deref",
		"json-schema-2020-12-preservation",
	}
)

// TestClientConformance runs the official suite as the server, of both
// generations of the protocol, and as its issuer. The client is this program,
// see TestClientOfTheSuite.
func TestClientConformance(t *testing.T) {
	conformance.Need(t)
	t.Setenv("SALLYPORT_TEST_CLIENT", "1")
	for version, want := range map[string][]string{"0.1.16": slices.Concat(asClient, asOlderClient), "0.2.0-alpha.12": slices.Concat(asClient, asNewerClient)} {
		t.Run(version, func(t *testing.T) {
			checks := conformance.Client(t, version, os.Args[0]+" -test.run=^TestClientOfTheSuite$", "--suite", "all")
			conformance.Judge(t, checks, want, nil)
		})
	}
}

// undeclared finds the host that a refusal names.
var undeclared = regexp.MustCompile(`HOST_NOT_ALLOWED: (\S+) is not in the declared`)

// TestClientOfTheSuite is skipped unless the suite starts it, which names a
// scenario and its server. It takes the steps of an operator until the tools
// are called.
func TestClientOfTheSuite(t *testing.T) {
	t.Parallel()
	if os.Getenv("SALLYPORT_TEST_CLIENT") == "" {
		t.Skip("this is the program that TestClientConformance has the suite start")
	}
	url, scenario := flag.Arg(0), os.Getenv("MCP_CONFORMANCE_SCENARIO")
	var given suiteContext
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			t.Fatal(err)
		}
	}
	c := &client{
		t: t, kept: &kept{m: map[string]string{}}, record: &recorded{},
		secrets: secrets{
			"suite/secret": given.Secret, "suite/key": given.Key, "suite/workload": given.Workload, "suite/identity": given.Identity,
		},
		policy: &sallyport.NetworkPolicy{Allow: []string{host(url)}, AllowPrivate: true},
		server: upstream.Server{Name: "far", URL: url, Capabilities: sallyport.Capabilities{
			Network: &sallyport.NetworkCapability{}, Input: []sallyport.InputKind{sallyport.InputPerson},
		}},
		person: agreeable{},
	}
	if strings.HasPrefix(scenario, "auth/") {
		c.server.OAuth = given.declare(scenario)
		if s := c.server.OAuth; s.Issuer == "" && !s.Register {
			s.Issuer = writtenIssuer(t, url)
		}
	}
	o := &operator{client: c}
	o.open()
	if res := o.persist(o.discover); !res.OK {
		t.Fatalf("discovery: %s", res.Error)
	}
	for _, call := range o.calls(given) {
		try := func() sallyport.Result { return o.run(o.tools, "local", call.Name, call.Arguments) }
		res := o.persist(try)
		if res.Code == sallyport.CodeInputInvalid {
			// Arguments that are null where the schema has no null are left
			// out.
			maps.DeleteFunc(call.Arguments, func(_ string, v any) bool { return v == nil })
			res = o.persist(try)
		}
		t.Logf("%s: %+v", call.Name, res)
	}
}

// agreeable is a caller that sends every form unchanged.
type agreeable struct{}

func (agreeable) Can(kind sallyport.InputKind) bool { return kind == sallyport.InputPerson }

func (agreeable) Ask(_ context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	answers := make([]sallyport.Answer, len(questions))
	for i := range answers {
		answers[i].Action = sallyport.ActionAccept
	}
	return answers, nil
}

// suiteContext is the information that a scenario gives its client.
type suiteContext struct {
	ClientID string      `json:"client_id"`
	Secret   string      `json:"client_secret"`
	Key      string      `json:"private_key_pem"`
	Issuer   string      `json:"issuer"`
	Workload string      `json:"valid_jwt"`
	Identity string      `json:"idp_id_token"`
	Provider string      `json:"idp_issuer"`
	There    string      `json:"idp_client_id"`
	Calls    []suiteCall `json:"toolCalls"`
}

type suiteCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// declare returns what an operator would write for a scenario.
func (g *suiteContext) declare(scenario string) *oauth.Server {
	if g.ClientID == "" {
		return &oauth.Server{Document: "https://conformance-test.local/client-metadata.json", Register: true}
	}
	s := &oauth.Server{ClientID: g.ClientID, Issuer: g.Issuer}
	if strings.Contains(scenario, "client-credentials") {
		s.Grant = oauth.ClientCredentials
	}
	if g.Workload != "" {
		s.Grant, s.Assertion = oauth.JWTBearer, "suite/workload"
	}
	if g.Identity != "" {
		s.Grant, s.Assertion = oauth.JWTBearer, "suite/identity"
		s.Provider = &oauth.Provider{Issuer: g.Provider, ClientID: g.There}
	}
	if g.Secret != "" {
		s.ClientSecret = "suite/secret"
	}
	if g.Key != "" {
		s.PrivateKey = "suite/key"
	}
	return s
}

// writtenIssuer returns the issuer that an operator writes beside a credential.
// An operator reads it in the documentation of a server; the test reads the
// metadata instead.
func writtenIssuer(t *testing.T, server string) string {
	u, err := neturl.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource" + u.Path, "/.well-known/oauth-protected-resource"} {
		res, err := http.Get(u.Scheme + "://" + u.Host + path)
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			Issuers []string `json:"authorization_servers"`
		}
		err = json.NewDecoder(res.Body).Decode(&said)
		_ = res.Body.Close()
		if err == nil && len(said.Issuers) > 0 {
			return said.Issuers[0]
		}
	}
	return ""
}

// operator follows the advice in messages: declare a host, log in.
type operator struct {
	*client
	logins int
}

// maxLogins is how often a user logs in before giving up.
const maxLogins = 3

// persist repeats a call until no advice is left to follow.
func (o *operator) persist(try func() sallyport.Result) sallyport.Result {
	for {
		res := try()
		switch {
		case res.OK:
			return res
		case o.allow(res.Error):
		case strings.Contains(res.Error, "run sallyport login") && o.logins < maxLogins:
			o.logins++
			if in := o.persist(func() sallyport.Result { return o.login("local") }); !in.OK {
				o.t.Logf("login: %s", in.Error)
				return in
			}
		default:
			return res
		}
	}
}

// allow declares a host that was refused because it was not declared.
func (o *operator) allow(text string) bool {
	m := undeclared.FindStringSubmatch(text)
	if m == nil || slices.Contains(o.policy.Allow, m[1]) {
		return false
	}
	o.policy.Allow = append(o.policy.Allow, m[1])
	o.server.Capabilities.Network.AllowedHosts = append(o.server.Capabilities.Network.AllowedHosts, m[1])
	o.open()
	return true
}

// calls returns the calls that a scenario expects: those that it names, else
// one of each tool.
func (o *operator) calls(given suiteContext) []suiteCall {
	var list []suiteCall
	for _, call := range given.Calls {
		list = append(list, suiteCall{"mcp__far__" + call.Name, call.Arguments})
	}
	for _, tool := range o.tools.Tools() {
		args := map[string]any{}
		switch tool.Name {
		case "mcp__far__add_numbers":
			args = map[string]any{"a": 5, "b": 3}
		case "mcp__far__json_schema_echo":
			for _, other := range o.tools.Tools() {
				if other.Name == "mcp__far__json_schema_2020_12_tool" {
					args["schema"] = other.Schema
				}
			}
		default:
			if len(given.Calls) > 0 {
				continue
			}
			if strings.Contains(string(tool.Schema), `"region"`) {
				args["region"] = "us-west1"
			}
		}
		list = append(list, suiteCall{tool.Name, args})
	}
	return list
}
