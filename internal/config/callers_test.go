package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport"
)

// aHash is printf test | sha256sum.
const aHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

const callersYAML = `version: 1
limits: memory
personalities:
  researcher: {approvals: {require: [email-send, mcp__a__b], wait: 5m, expires: 1d}}
  ops: {approvals: {elicit: false}}
principals:
  local: {permissions: [http:read]}
  ci-agent: {token_sha256: "9F86D081884C7D659A2FEAA0C55AD015A3BF4F1B2B0B822CD15D6C15B0F00A08", expires: 2027-01-01, permissions: [weather:read, http:read], personalities: [researcher]}
  later: {expires: 2027-01-01T12:30:00.5+02:00, personalities: []}
  bare: {}
security: {default_permissions: [file:read], require_auth: false, audit_log: true, oidc: {issuer: "http://127.0.0.1:8080/r", audience: sallyport, permissions_claim: https://example.com/permissions}}
databases:
  analytics: {url_secret: db/analytics, driver: postgres}
  notes: {driver: sqlite, path: data/notes.db}
mail:
  default: {host: smtp.Example.com:587, user_secret: mail/user, password_secret: mail/password, from: agent@example.com}
  near: {host: "[::1]:2525", from: Agent <agent@example.com>, tls: none}
`

func TestCallersAndConnections(t *testing.T) {
	c, err := Parse("s.yaml", []byte(callersYAML), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Limits: LimitsMemory,
		Principals: map[string]Principal{
			"local": {Name: "local", Permissions: []string{"http:read"}},
			"ci-agent": {
				Name: "ci-agent", TokenSHA256: aHash, Expires: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
				Permissions: []string{"weather:read", "http:read"}, Personalities: []string{"researcher"},
			},
			"later": {Name: "later", Expires: time.Date(2027, 1, 1, 10, 30, 0, 5e8, time.UTC), Personalities: []string{}},
			"bare":  {Name: "bare", Personalities: []string{}},
		},
		Security: Security{DefaultPermissions: []string{"file:read"}, OIDC: &OIDC{
			Issuer: "http://127.0.0.1:8080/r", Audience: "sallyport", PermissionsClaim: "https://example.com/permissions",
			PrincipalClaim: "sub", Algorithms: []string{"RS256", "ES256"}, Personalities: []string{},
		}},
		Databases: map[string]Database{
			"analytics": {Driver: DriverPostgres, URLSecret: "db/analytics"},
			"notes":     {Driver: DriverSQLite, Path: "/work/proj/data/notes.db"},
		},
		Mail: map[string]Relay{
			"default": {Host: "smtp.example.com:587", UserSecret: "mail/user", PasswordSecret: "mail/password", From: "agent@example.com", TLS: TLSStart},
			"near":    {Host: "[::1]:2525", From: `"Agent" <agent@example.com>`, TLS: TLSNone},
		},
	}
	got := &Config{Limits: c.Limits, Principals: c.Principals, Security: c.Security, Databases: c.Databases, Mail: c.Mail}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Errorf("Parse differs (-want +got):\n%s", diff)
	}
	approvals := map[string]*sallyport.Approvals{}
	for name, p := range c.Personalities {
		approvals[name] = p.Approvals
	}
	wantApprovals := map[string]*sallyport.Approvals{
		"researcher": {Require: []string{"email-send", "mcp__a__b"}, Wait: 5 * time.Minute, Expires: 24 * time.Hour},
		"ops":        {Wait: 30 * time.Second, WaitForPerson: true, OperatorOnly: true},
	}
	if diff := cmp.Diff(wantApprovals, approvals); diff != "" {
		t.Errorf("Approvals differ (-want +got):\n%s", diff)
	}
	if got, want := c.Personalities["researcher"].Source("approvals.require.1"), "s.yaml:4:50"; got != want {
		t.Errorf("Source(approvals.require.1) = %s, want %s", got, want)
	}
	if got, want := c.Source("principals.ci-agent.permissions.1"), "s.yaml:8:145"; got != want {
		t.Errorf("Source(principals.ci-agent.permissions.1) = %s, want %s", got, want)
	}
}

// TestRolesOfCallers: who has no list takes the personality that is chosen
// by default, never any; only the local user may take any.
func TestRolesOfCallers(t *testing.T) {
	tests := []struct {
		name, personalities string
		want                []string
	}{
		{"the implicit one", "", []string{"default"}},
		{"the only one", "personalities: {a: {}}\n", []string{"a"}},
		{"default among several", "personalities: {a: {}, default: {}}\n", []string{"default"}},
		{"several", "personalities: {a: {}, b: {}}\n", []string{}},
	}
	// The local user without a list may take any: he can change the file.
	const callers = "principals: {local: {}, ci: {}}\nsecurity: {oidc: {issuer: 'https://a.example', audience: a, permissions_claim: p}}\n"
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("s.yaml", []byte("version: 1\n"+tt.personalities+callers), testOptions())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, c.Principals["ci"].Personalities); diff != "" {
				t.Errorf("personalities of ci differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, c.Security.OIDC.Personalities); diff != "" {
				t.Errorf("personalities of OIDC differ (-want +got):\n%s", diff)
			}
			if got := c.Principals["local"].Personalities; got != nil {
				t.Errorf("personalities of local = %q, want nil", got)
			}
		})
	}
}

// TestImplicitPersonalityHasAName: it may be named although no file has it.
func TestImplicitPersonalityHasAName(t *testing.T) {
	if _, err := Parse("s.yaml", []byte("version: 1\nprincipals: {ci: {personalities: [default]}}\n"), testOptions()); err != nil {
		t.Error(err)
	}
	_, err := Parse("s.yaml", []byte("version: 1\nprincipals: {ci: {personalities: [defautl]}}\n"), testOptions())
	want := []string{`s.yaml:2:35: principals.ci.personalities.0: "defautl" is not defined under personalities; did you mean "default"?`}
	if diff := cmp.Diff(want, faultLines(err)); diff != "" {
		t.Errorf("faults differ (-want +got):\n%s", diff)
	}
}

func TestParseDuration(t *testing.T) {
	tests := []struct {
		text string
		want time.Duration
	}{
		{"30s", 30 * time.Second},
		{"5m", 5 * time.Minute},
		{"1h", time.Hour},
		{"1d", 24 * time.Hour},
		{"0s", 0},
		{"3650d", maxDuration},
		{"3651d", -1},
		{"99999999999999999999s", -1},
		{"9223372036854775807s", -1},
		{"", -1},
		{"s", -1},
		{"30", -1},
		{"1ms", -1},
		{"1h30m", -1},
		{"1.5h", -1},
		{"+1s", -1},
		{"-1s", -1},
		{"01s", -1},
		{" 1s", -1},
		{"1 s", -1},
		{"1S", -1},
		{"1w", -1},
		{"١s", -1},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := ParseDuration(tt.text)
			if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
				t.Errorf("ParseDuration(%q) = %v, %v, want %v", tt.text, got, err, tt.want)
			}
		})
	}
}

// TestTextsOfCallersAreRefused holds values that no golden file has.
func TestTextsOfCallersAreRefused(t *testing.T) {
	const oidc = "security: {oidc: {audience: a, permissions_claim: p, issuer: "
	const page = "security: {oidc: {issuer: 'https://a.b', audience: a, permissions_claim: p, page: {client_id: c, url: "
	tests := []struct{ name, text, want string }{
		{"limits as a path", "limits: sqlite:x", "s.yaml:2:9: limits: expected state or memory"},
		{"limits with TLS", "limits: rediss://h", "s.yaml:2:9: not supported yet: limits: redis"},
		{"issuer with a query", oidc + "'https://a.b/?x=1'}}", "s.yaml:2:62: security.oidc.issuer: expected a URL without user, query and fragment"},
		{"issuer with a fragment", oidc + "'https://a.b/#'}}", "s.yaml:2:62: security.oidc.issuer: expected a URL without user, query and fragment"},
		{"issuer of another scheme", oidc + "'ftp://a.b'}}", "s.yaml:2:62: security.oidc.issuer: expected a URL such as https://login.example.com"},
		{"issuer without a host", oidc + "'https:///x'}}", "s.yaml:2:62: security.oidc.issuer: expected a URL such as https://login.example.com"},
		{"issuer with a bad host", oidc + "'https://a_.b:0/x'}}", `s.yaml:2:62: security.oidc.issuer: host "a_.b:0": "0" is not a port`},
		{"issuer on a private host", oidc + "'http://10.0.0.1/x'}}", "s.yaml:2:62: security.oidc.issuer: expected https: with http a host in between could replace the keys"},
		{"page with a path", page + "'https://a.b/x'}}}", "s.yaml:2:103: security.oidc.page.url: expected a URL without user, path, query and fragment"},
		{"page of another scheme", page + "'javascript:alert(1)'}}}", "s.yaml:2:103: security.oidc.page.url: expected a URL such as https://gate.example.com"},
		{"page in the clear", page + "'http://gate.example.com'}}}", "s.yaml:2:103: security.oidc.page.url: expected https: with http a host in between could sign in as another person"},
		{"page without a client", strings.Replace(page, "client_id: c, ", "", 1) + "'https://a.b'}}}", "s.yaml:2:77: missing key security.oidc.page.client_id: expected client_id: sallyport-page"},
		{"page with the audience", strings.Replace(page, "client_id: c", "client_id: a", 1) + "'https://a.b'}}}", "s.yaml:2:84: security.oidc.page.client_id: the same as security.oidc.audience, so that what signs a person in would call tools: expected a client of its own"},
		{"page with a secret", page + "'https://a.b', client_secret_secret: 'https://x'}}}", "s.yaml:2:140: security.oidc.page.client_secret_secret: expected the reference of a secret such as db/analytics, not a URL: the value is never written here"},
		{"page in the clear with TLS", page + "'http://127.0.0.1:1'}}}\ntls: {cert: a, key: b}", "s.yaml:2:98: security.oidc.page.url: the server encrypts, with the certificate of tls: expected https"},
		{"relay that only begins like this machine", "mail: {a: {host: 'localhost.example.com:25', from: a@b.c, tls: none}}", "s.yaml:2:59: mail.a.tls: none is for a relay on this machine: expected starttls or tls"},
		{"recipient with a name", `mail: {a: {host: 'h.example:25', from: a@b.c, to: ["Ada <ada@b.c>"]}}`, `s.yaml:2:52: mail.a.to.0: "Ada <ada@b.c>" is not a recipient: expected an address such as ada@example.com, or *@example.com`},
		{"recipient that is everybody", `mail: {a: {host: 'h.example:25', from: a@b.c, to: ["*"]}}`, `s.yaml:2:52: mail.a.to.0: "*" is not a recipient: expected an address such as ada@example.com, or *@example.com`},
		{"two lines of sender", `mail: {a: {host: 'h.example:25', from: "a@b.c\nBcc: x@y.z"}}`, `s.yaml:2:40: mail.a.from: "a@b.c\nBcc: x@y.z" is not an address: expected one such as agent@example.com`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("s.yaml", []byte("version: 1\n"+tt.text+"\n"), testOptions())
			if diff := cmp.Diff([]string{tt.want}, faultLines(err)); diff != "" {
				t.Errorf("faults differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDocumentsForm loads the example of the documents, byte by byte, alone
// and with a file that has what it cannot say.
func TestDocumentsForm(t *testing.T) {
	text, err := os.ReadFile("testdata/documents.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "agent.json", string(text))
	write(t, dir, "more/more.yaml", "version: 1\nprincipals: {ci: {permissions: [weather:read]}}\nactions: [{id: mine}]\n"+
		"security: {oidc: {issuer: 'https://a.example', audience: a, permissions_claim: p}}\n")
	alone, err := Load([]string{"agent.json"}, &Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !alone.Implicit || !alone.Security.RequireAuth || alone.Security.DefaultPermissions == nil || len(alone.Actions) != 2 {
		t.Errorf("Load = %+v, want two actions, authentication and an empty list of permissions", alone)
	}
	if got := alone.Source("security.require_auth"); !strings.HasPrefix(got, "agent.json:") {
		t.Errorf("Source(security.require_auth) = %q, want the place of requireAuth", got)
	}
	both, err := Load([]string{"agent.json", "more/more.yaml"}, &Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range both.Actions {
		got = append(got, a.ID+" "+strings.TrimPrefix(a.Dir, dir))
	}
	if diff := cmp.Diff([]string{"get-weather ", "send-notification ", "mine /more"}, got); diff != "" {
		t.Errorf("Actions differ (-want +got):\n%s", diff)
	}
	if both.Security.OIDC == nil || !both.Security.RequireAuth || len(both.Principals) != 1 {
		t.Errorf("Load of both = %+v, want what both say", both)
	}
	var example struct {
		Layers struct {
			Capabilities struct{ Actions []json.RawMessage }
		}
	}
	if err := json.Unmarshal(text, &example); err != nil {
		t.Fatal(err)
	}
	for i, want := range example.Layers.Capabilities.Actions {
		if diff := cmp.Diff(decoded(t, want), decoded(t, alone.Actions[i].JSON)); diff != "" {
			t.Errorf("action %d differs (-want +got):\n%s", i, diff)
		}
	}
}

func decoded(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

// TestEveryTopKeyTogether loads a file with every key that is supported.
func TestEveryTopKeyTogether(t *testing.T) {
	text, err := os.ReadFile("testdata/every_key.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse("sallyport.yaml", text, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Principals) != 1 || len(c.Databases) != 1 || len(c.Mail) != 1 || len(c.Actions) != 1 || c.Security.OIDC == nil {
		t.Errorf("Parse = %+v, want one of each", c)
	}
	want := []string{"weather:read", "http:read"}
	if diff := cmp.Diff(want, c.Principals["ci-agent"].Permissions); diff != "" {
		t.Errorf("Permissions differ (-want +got):\n%s", diff)
	}
}
