package sallyport_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
)

// TestSessionKeyIsInjective checks that no two pairs of principal and session
// share a key.
func TestSessionKeyIsInjective(t *testing.T) {
	for _, tt := range []struct{ name, principal, session, want string }{
		{"plain", "alice", "s1", "alice/s1"},
		{"slash in the principal", "alice/s1", "x", "alice%2Fs1/x"},
		{"slash in the session", "alice", "s1/x", "alice/s1/x"},
		{"percent", "alice%2Fs1", "x", "alice%252Fs1/x"},
		{"empty session", "alice", "", "alice/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := sallyport.SessionKey(tt.principal, tt.session); got != tt.want {
				t.Errorf("SessionKey(%q, %q) = %q, want %q", tt.principal, tt.session, got, tt.want)
			}
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		// Use few letters, so that pairs which could collide are drawn often.
		part := rapid.StringMatching(`[a/%2F\x00é]{0,6}`)
		p1, s1 := part.Draw(t, "principal"), part.Draw(t, "session")
		p2, s2 := part.Draw(t, "other principal"), part.Draw(t, "other session")
		same := p1 == p2 && s1 == s2
		if got := sallyport.SessionKey(p1, s1) == sallyport.SessionKey(p2, s2); got != same {
			t.Errorf("SessionKey(%q, %q) and SessionKey(%q, %q): equal = %v, want %v", p1, s1, p2, s2, got, same)
		}
	})
}

// FuzzSessionKey takes the key apart again, which proves the same for every
// input: the text after the first slash is the session.
func FuzzSessionKey(f *testing.F) {
	f.Add("alice", "s1")
	f.Add("a/b", "c/d")
	f.Add("%2F", "/")
	f.Fuzz(func(t *testing.T, principal, session string) {
		key := sallyport.SessionKey(principal, session)
		front, rest, ok := strings.Cut(key, "/")
		if !ok || rest != session || front != strings.TrimSuffix(sallyport.SessionKey(principal, ""), "/") {
			t.Errorf("SessionKey(%q, %q) = %q, which does not name the session after the first slash", principal, session, key)
		}
	})
}

func TestProgressJSON(t *testing.T) {
	half := 50.0
	tests := []struct {
		name string
		p    sallyport.Progress
		want string
	}{
		{
			"everything",
			sallyport.Progress{Tool: "t", Message: "m", Percent: &half, Audience: sallyport.AudienceUser},
			`{"type":"progress","toolName":"t","message":"m","percent":50,"audience":"user"}`,
		},
		{"default audience", sallyport.Progress{Tool: "t"}, `{"type":"progress","toolName":"t","message":"","audience":"internal"}`},
		{"unknown audience", sallyport.Progress{Audience: "everybody"}, `{"type":"progress","toolName":"","message":"","audience":"internal"}`},
		{"dashboard", sallyport.Progress{Audience: sallyport.AudienceDashboard}, `{"type":"progress","toolName":"","message":"","audience":"dashboard"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if text, err := json.Marshal(tt.p); err != nil || string(text) != tt.want {
				t.Errorf("Marshal() = %s, %v, want %s", text, err, tt.want)
			}
		})
	}
}

func TestPersonalitySource(t *testing.T) {
	p := &sallyport.Personality{Sources: map[string]string{
		"": "f:1:1", "safety": "f:5:3", "safety.network.allow": "f:7:5", "toolset": "",
	}}
	tests := []struct {
		name string
		p    *sallyport.Personality
		key  string
		want string
	}{
		{"its own", p, "safety.network.allow", "f:7:5"},
		{"its parent", p, "safety.network.deny", "f:5:3"},
		{"a grandparent", p, "safety.secrets.allow", "f:5:3"},
		{"the personality", p, "fs_reach.read", "f:1:1"},
		{"known to be nowhere", p, "toolset", ""},
		{"whole keys only", p, "safetybelt.x", "f:1:1"},
		{"the empty key", p, "", "f:1:1"},
		{"no sources", &sallyport.Personality{}, "toolset", ""},
		{"nil", nil, "toolset", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.p.Source(tt.key); got != tt.want {
				t.Errorf("Source(%q) = %q, want %q", tt.key, got, tt.want)
			}
		})
	}
}

func TestPrincipalRole(t *testing.T) {
	for _, c := range []struct {
		name            string
		may             []string
		asked, fallback string
		want            string
	}{
		{"any role", nil, "", "default", "default"},
		{"asked for", nil, "ops", "default", "ops"},
		{"asked for and not its own", []string{"reader"}, "ops", "default", "ops"}, // the gate refuses it
		{"fallback", []string{"reader", "default"}, "", "default", "default"},
		{"first of its own", []string{"reader", "writer"}, "", "default", "reader"},
		{"none", []string{}, "", "default", "default"}, // the gate refuses it
	} {
		p := sallyport.Principal{Name: "p", Personalities: c.may}
		if got := p.Role(c.asked, c.fallback); got != c.want {
			t.Errorf("%s: Role = %q, want %q", c.name, got, c.want)
		}
	}
	p := sallyport.Principal{Personalities: []string{}}
	if p.MayTake("default") {
		t.Error("a principal with an empty list may take a role")
	}
}
