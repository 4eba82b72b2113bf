package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/httpapi"
)

func TestExecuteAnswersWithTheStatusOfTheCode(t *testing.T) {
	k := newKit(t, nil)
	tests := []struct {
		name, tool, body, token string
		status                  int
		code                    sallyport.Code
		text                    string
	}{
		{"arguments that do not fit", "sum", `{"params":{"a":"one"}}`, "alice", 400, sallyport.CodeInputInvalid, "/a"},
		{"arguments that are missing", "sum", `{}`, "alice", 400, sallyport.CodeInputInvalid, "b"},
		{"a repeated key in the arguments", "echo", `{"params":{"a":1,"a":2}}`, "alice", 400, sallyport.CodeInputInvalid, "a"},
		{"an unknown tool", "nothing", `{}`, "alice", 404, sallyport.CodeNotAvailable, "Unknown tool: nothing"},
		{"outside the personality", "sum", `{"params":{"a":1,"b":2}}`, "bob", 404, sallyport.CodeNotAvailable, "Tool sum is not permitted for this personality"},
		{"an unknown personality", "echo", `{"personality":"nobody"}`, "alice", 404, sallyport.CodeNotAvailable, "Tool echo is not permitted for this personality"},
		{"gated off", "asleep", `{}`, "alice", 404, sallyport.CodeNotAvailable, "Tool asleep is not currently available"},
		{"no backend", "unwired", `{}`, "alice", 503, sallyport.CodeNotAvailable, "Tool unwired declares capabilities but no capability backends are configured"},
		{"no permission", "send", `{}`, "alice", 403, sallyport.CodePermissionDenied, "Permission denied: send requires mail:read"},
		{"a rate limit", "busy", `{}`, "alice", 429, sallyport.CodeRateLimited, "Rate limit exceeded: upstream"},
		{"a stale write", "stale", `{}`, "alice", 409, sallyport.CodeStaleWrite, "the file changed"},
		{"a panic", "broken", `{}`, "alice", 502, sallyport.CodeExecutionFailed, "The tool failed unexpectedly"},
		{"an accessor", "outside", `{}`, "alice", 502, sallyport.CodeExecutionFailed, "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := k.execute(tt.tool, tt.body, "Authorization", "Bearer "+tt.token)
			if got.status != tt.status || got.body.Success || got.body.Code != tt.code || !strings.Contains(got.body.Error, tt.text) {
				t.Errorf("execute(%s) = %d %s, want %d %s with %q", tt.tool, got.status, got.text, tt.status, tt.code, tt.text)
			}
			if strings.Contains(got.text, "/var/private") {
				t.Errorf("the answer tells what the tool panicked with: %s", got.text)
			}
			if e := k.record.outcome(t, got.body.CallID); e.OK || e.Code != tt.code || e.Platform != sallyport.PlatformHTTP {
				t.Errorf("recorded %s over %s, want %s over http", e.Code, e.Platform, tt.code)
			}
		})
	}
}

func TestExecuteReturnsStructuredDataElseTheValue(t *testing.T) {
	k := newKit(t, nil)
	got := k.execute("sum", `{"params":{"a":1,"b":2}}`)
	if got.status != 200 || !got.body.Success || string(got.body.Data) != `{"sum":3}` || got.body.CostUSD != 0.25 {
		t.Errorf("sum answered %d %s", got.status, got.text)
	}
	k.record.outcome(t, got.body.CallID)
	got = k.execute("echo", `{"params":{"a":"<b>"}}`)
	if want := `"{\"a\":\"<b>\"}"`; got.status != 200 || string(got.body.Data) != want {
		t.Errorf("echo answered %d %s, want data %s", got.status, got.text, want)
	}
	if got := k.execute("echo", `{}`); string(got.body.Data) != `"{}"` {
		t.Errorf("echo without params answered %s, want {}", got.text)
	}
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	got := newKit(t, nil).execute("busy", `{}`)
	if got.header.Get("Retry-After") != "2" || got.body.RetryAfterMS == nil || *got.body.RetryAfterMS != 1001 {
		t.Errorf("Retry-After %q in %s, want 2 seconds and 1001 milliseconds", got.header.Get("Retry-After"), got.text)
	}
}

func TestARateLimitSaysWhenToComeBack(t *testing.T) {
	k := newKit(t, nil)
	if got := k.execute("limited", `{}`); got.status != 200 {
		t.Fatalf("the first call = %d %s", got.status, got.text)
	}
	got := k.execute("limited", `{}`)
	seconds, err := strconv.ParseInt(got.header.Get("Retry-After"), 10, 64)
	if got.status != 429 || got.body.RetryAfterMS == nil || err != nil || seconds != (*got.body.RetryAfterMS+999)/1000 {
		t.Errorf("the second call = %d %s with Retry-After %q", got.status, got.text, got.header.Get("Retry-After"))
	}
	if got := k.do("GET", "/v1/actions/limited", ""); !strings.Contains(got.text, `"rateLimit":{"requests":1,"window":"1h"}`) {
		t.Errorf("the action says %s", got.text)
	}
}

func TestAHeldCallNamesItsApproval(t *testing.T) {
	k := newKit(t, nil)
	body := func(n int) string {
		return fmt.Sprintf(`{"params":{"n":%d},"session":"s","personality":"held"}`, n)
	}
	for n, want := range map[int]int{1: 200, 2: 403} {
		got := k.execute("echo", body(n))
		if got.status != 409 || got.body.Code != sallyport.CodeApprovalRequired || got.body.ApprovalID == "" || got.body.ExpiresAt == nil {
			t.Fatalf("a held call = %d %s, want 409 with an approval", got.status, got.text)
		}
		if err := k.state.Approvals().Decide(t.Context(), got.body.ApprovalID, "carol", want == 200, "because"); err != nil {
			t.Fatal(err)
		}
		if got := k.execute("echo", body(n)); got.status != want {
			t.Errorf("the decided call = %d %s, want %d", got.status, got.text, want)
		}
	}
}

func TestADryRunDoesNotRun(t *testing.T) {
	k := newKit(t, nil)
	got := k.execute("hold", `{"params":{"a":1},"dry_run":true}`)
	if got.status != 200 || !strings.Contains(string(got.body.Data), "[dry-run] hold would be called with") {
		t.Errorf("the dry run answered %d %s", got.status, got.text)
	}
	if len(k.started) != 0 || !k.record.outcome(t, got.body.CallID).DryRun {
		t.Error("the dry run ran, or was not recorded as one")
	}
}

// identity is what the tool whoami tells.
type identity struct{ Principal, Session, Personality, Platform, Args, Call string }

// identityOf reads the answer of whoami, a stream's too.
func identityOf(got reply) (id identity, err error) {
	data := got.body.Data
	if _, result, ok := strings.Cut(got.text, "event: result\ndata: "); ok {
		if err := json.Unmarshal([]byte(result), &got.body); err != nil {
			return id, err
		}
		data = got.body.Data
	}
	return id, json.Unmarshal(data, &id)
}

func (k *kit) whoami(body, token string) identity {
	k.t.Helper()
	got := k.execute("whoami", body, "Authorization", "Bearer "+token)
	id, err := identityOf(got)
	if err != nil {
		k.t.Errorf("whoami answered %d %s", got.status, got.text)
	}
	return id
}

func TestASessionBelongsToItsPrincipal(t *testing.T) {
	k := newKit(t, nil)
	a, b := k.whoami(`{"session":"s"}`, "alice"), k.whoami(`{"session":"s"}`, "bob")
	if a.Session == b.Session || a.Principal != "alice" || b.Principal != "bob" || a.Platform != "http" {
		t.Errorf("two principals with one session id are %v and %v", a, b)
	}
	if again := k.whoami(`{"session":"s"}`, "alice"); again.Session != a.Session {
		t.Errorf("the session became %q, want %q", again.Session, a.Session)
	}
	if x, y := k.whoami(`{}`, "alice"), k.whoami(`{}`, "alice"); x.Session == y.Session {
		t.Errorf("two calls without a session share %q", x.Session)
	}
}

func TestAPrincipalTakesItsOwnRolesOnly(t *testing.T) {
	k := newKit(t, nil)
	if got := k.whoami(`{}`, "bob").Personality; got != "reader" {
		t.Errorf("bob's role = %q, want his only one", got)
	}
	if got := k.whoami(`{}`, "alice").Personality; got != "default" {
		t.Errorf("alice's role = %q, want the server's", got)
	}
	if got := k.whoami(`{"personality":"reader"}`, "alice").Personality; got != "reader" {
		t.Errorf("alice's role = %q, want the one she asked for", got)
	}
	got := k.execute("hold", `{"personality":"default"}`, "Authorization", "Bearer bob")
	if got.status != 404 || got.body.Error != "Tool hold is not permitted for this personality" || len(k.started) != 0 {
		t.Errorf("bob in another role = %d %s, want a refusal", got.status, got.text)
	}
	k.record.outcome(t, got.body.CallID)
	if got := k.do("GET", "/v1/actions?personality=default", "", "Authorization", "Bearer bob"); got.status != 403 {
		t.Errorf("bob lists another role = %d, want 403", got.status)
	}
}

func TestABrokenBodyIsRefusedAndRecorded(t *testing.T) {
	k := newKit(t, &httpapi.Options{MaxBody: 1 << 20})
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	tests := []struct {
		name, body string
		status     int
	}{
		{"empty", ``, 400},
		{"blank", ` `, 400},
		{"no JSON", `params=1`, 400},
		{"cut", `{"params":{`, 400},
		{"trailing comma", `{"params":{},}`, 400},
		{"comment", `{/**/}`, 400},
		{"single quotes", `{'params':{}}`, 400},
		{"trailing data", `{} {}`, 400},
		{"byte order mark", "\xef\xbb\xbf{}", 400},
		{"array", `[]`, 400},
		{"string", `"params"`, 400},
		{"null", `null`, 400},
		{"unknown key", `{"prams":{}}`, 400},
		{"key of another case", `{"Params":{}}`, 400},
		{"repeated key", `{"params":{},"params":{"a":1}}`, 400},
		{"repeated key, escaped", `{"params":{},"par\u0061ms":{"a":1}}`, 400},
		{"repeated key within", `{"params":{"x":{"a":1,"a":2}}}`, 400},
		{"not UTF-8", "{\"params\":{\"a\":\"\xff\"}}", 400},
		{"too deep", `{"params":{"a":` + deep + `}}`, 400},
		{"params null", `{"params":null}`, 400},
		{"params list", `{"params":[]}`, 400},
		{"params text", `{"params":"{}"}`, 400},
		{"session number", `{"session":1}`, 400},
		{"session null", `{"session":null}`, 400},
		{"session too long", `{"session":"` + strings.Repeat("s", 257) + `"}`, 400},
		{"session with a line break", `{"session":"a\nb"}`, 400},
		{"session with half a character", `{"session":"\ud800"}`, 400},
		{"personality list", `{"personality":["default"]}`, 400},
		{"dry run as text", `{"dry_run":"true"}`, 400},
		{"dry run null", `{"dry_run":null}`, 400},
		{"too long", `{"params":{"a":"` + strings.Repeat("x", 1<<20) + `"}}`, 413},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := k.execute("echo", tt.body)
			if got.status != tt.status || got.body.Code != sallyport.CodeInputInvalid || got.body.Error == "" {
				t.Errorf("execute(%.60q) = %d %s, want %d input_invalid", tt.body, got.status, got.text, tt.status)
			}
			if e := k.record.outcome(t, got.body.CallID); e.Tool != "echo" || e.Principal != "alice" || e.Code != sallyport.CodeInputInvalid {
				t.Errorf("recorded %s of %s by %s", e.Code, e.Tool, e.Principal)
			}
		})
	}
}

func TestABodyWithoutALengthIsBoundedToo(t *testing.T) {
	k := newKit(t, &httpapi.Options{MaxBody: 1 << 20})
	long := strings.NewReader(`{"params":{"a":"` + strings.Repeat("x", 2<<20) + `"}}`)
	res := k.open("POST", "/v1/actions/echo/execute", struct{ *strings.Reader }{long}, "Content-Type", "application/json")
	res.Body.Close()
	if res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a long body = %d, want 413", res.StatusCode)
	}
	fits := strings.Repeat("x", 900<<10)
	if got := k.execute("echo", fmt.Sprintf(`{"params":{"a":%q}}`, fits)); got.status != 200 {
		t.Errorf("a body within the bound = %d %.100s, want 200", got.status, got.text)
	}
}

// The server closes such a connection after its answer, which must not be lost
// to a reset while the client is still sending.
func TestALongBodyIsAnsweredWhereTheClientWantsNoMore(t *testing.T) {
	files := &store{files: map[string][]byte{}}
	k := newKit(t, &httpapi.Options{MaxBody: 1 << 20, MaxUpload: 1 << 20, Uploads: files.storeAttachment})
	long := strings.Repeat("x", 10<<20)
	for id, kind := range map[string]string{"echo": httpapi.ContentJSON, "files": "multipart/form-data; boundary=x"} {
		for range 5 {
			res := k.open(http.MethodPost, "/v1/actions/"+id+"/execute", strings.NewReader(long), "Content-Type", kind, "Connection", "close")
			res.Body.Close()
			if res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Fatalf("a body of 10 MiB for %s = %d, want 413", id, res.StatusCode)
			}
		}
	}
}
