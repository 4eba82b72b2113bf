package mail_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/tools/mail"
)

// newRegistry is a gate with email-send over a backend; nil means none.
func newRegistry(t *testing.T, b sallyport.MailBackend) *registry.Registry {
	t.Helper()
	r, err := registry.New(&sallyport.Backends{Mail: b}, &registry.Options{Workspace: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	tl := mail.Tool(sallyport.MailCapability{To: []string{"*@example.com"}})
	tl.RateLimit = nil // The limiter has tests of its own.
	if err := r.Register(tl); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGate sends through the whole gate to a real server.
func TestGate(t *testing.T) {
	s := newServer(t, nil)
	r := newRegistry(t, s.backend(t, relay()))
	tests := []struct {
		name, args string
		none       bool // without the permission
		code       sallyport.Code
		want       string
	}{
		{name: "granted", args: `{"to":"bob@example.com","subject":"s","body":"b"}`, want: "The relay accepted the mail to bob@example.com."},
		{name: "HTML", args: `{"to":"bob@example.com","subject":"s","body":"<p>b","html":true}`, want: "The relay accepted the mail to bob@example.com."},
		{name: "outside", args: `{"to":"eve@evil.example","subject":"s","body":"b"}`, code: sallyport.CodeNotAvailable, want: "recipient eve@evil.example is not in the declared recipients"},
		{name: "list", args: `{"to":"bob@example.com,eve@evil.example","subject":"s","body":"b"}`, code: sallyport.CodeInputInvalid},
		{name: "list of strings", args: `{"to":["bob@example.com"],"subject":"s","body":"b"}`, code: sallyport.CodeInputInvalid},
		{name: "display name", args: `{"to":"Bob <bob@example.com>","subject":"s","body":"b"}`, code: sallyport.CodeInputInvalid},
		{name: "no body", args: `{"to":"bob@example.com","subject":"s"}`, code: sallyport.CodeInputInvalid},
		{name: "other field", args: `{"to":"bob@example.com","subject":"s","body":"b","bcc":"eve@evil.example"}`, code: sallyport.CodeInputInvalid},
		{name: "header in the subject", args: `{"to":"bob@example.com","subject":"s\r\nBcc: eve@evil.example","body":"b"}`, code: sallyport.CodeInputInvalid},
		{name: "no permission", args: `{"to":"bob@example.com","subject":"s","body":"b"}`, none: true, code: sallyport.CodePermissionDenied, want: "Permission denied: email-send requires email:send"},
	}
	sent := 0
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			caller := &sallyport.Caller{
				Principal: sallyport.Principal{Name: "tester", Permissions: []string{"email:send"}}, Session: "s", Platform: sallyport.PlatformGo,
			}
			if tt.none {
				caller.Principal.Permissions = nil
			}
			res := r.Call(t.Context(), caller, sallyport.Request{Tool: "email-send", Args: json.RawMessage(tt.args)})
			if res.OK != (tt.code == "") || res.Code != tt.code || !strings.Contains(res.Value+res.Error, tt.want) {
				t.Errorf("email-send(%s) = %+v, want %s %q", tt.args, res, tt.code, tt.want)
			}
			if tt.code == "" {
				sent++
			}
			if n := len(s.mails()); n != sent {
				t.Errorf("the server has %d mails, want %d", n, sent)
			}
		})
	}
}

// TestGateWithoutBackend has no relay at all.
func TestGateWithoutBackend(t *testing.T) {
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "tester", Permissions: []string{"email:send"}}, Platform: sallyport.PlatformGo}
	res := newRegistry(t, nil).Call(t.Context(), caller, sallyport.Request{
		Tool: "email-send", Args: json.RawMessage(`{"to":"bob@example.com","subject":"s","body":"b"}`),
	})
	if res.Code != sallyport.CodeNotAvailable {
		t.Errorf("Call = %+v, want not_available", res)
	}
}

// TestDeclaration holds the tool to what the documents say of it.
func TestDeclaration(t *testing.T) {
	tl := mail.Tool(sallyport.MailCapability{Relay: "news", To: []string{"*@example.com"}})
	if tl.Name != "email-send" || len(tl.Permissions) != 1 || tl.Permissions[0] != "email:send" ||
		tl.RateLimit == nil || tl.RateLimit.Requests != 10 || tl.RateLimit.Window.Hours() != 1 ||
		tl.ReadOnly || tl.Idempotent || tl.Capabilities.Mail == nil || tl.Capabilities.Mail.Relay != "news" {
		t.Errorf("Tool = %+v", tl)
	}
	var s struct {
		Properties map[string]struct {
			Type, Format string
			Default      any
		}
		Required []string
	}
	if err := json.Unmarshal(tl.Schema, &s); err != nil {
		t.Fatal(err)
	}
	if p := s.Properties; len(p) != 4 || p["to"].Type != "string" || p["to"].Format != "email" || p["subject"].Type != "string" ||
		p["body"].Type != "string" || p["html"].Type != "boolean" || p["html"].Default != false ||
		strings.Join(s.Required, " ") != "to subject body" {
		t.Errorf("Schema = %s", tl.Schema)
	}
}
