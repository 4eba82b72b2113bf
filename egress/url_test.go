package egress

import (
	"net/url"
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"https://api.github.com", "https://api.github.com/", "HTTPS://API.GitHub.COM./x?y=z#f", "http://a.b:8080/%2e%2e/%0d",
		"https://a.b/?q=a\\b", "https://a.b/#\\", "https://a.b/?u=http://x@y/", "https://a.b/@user", "https://a.b:443/",
		"https://a.b:/", "https://[2606:4700::1111]:8443/", "https://bücher.example/ü", "https://a.b//evil.com",
	} {
		if _, err := ParseURL(raw); err != nil {
			t.Errorf("ParseURL(%q) = %v, want it accepted", raw, err)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, raw, reason string
	}{
		{"empty", "", "does not begin with http"},
		{"relative", "/x", "does not begin with http"},
		{"no scheme", "//api.github.com/", "does not begin with http"},
		{"host only", "api.github.com", "does not begin with http"},
		{"file", "file:///etc/passwd", "does not begin with http"},
		{"ftp", "ftp://a.b/", "does not begin with http"},
		{"gopher", "gopher://a.b/", "does not begin with http"},
		{"data", "data:text/html,x", "does not begin with http"},
		{"javascript", "javascript:alert(1)", "does not begin with http"},
		{"websocket", "wss://a.b/", "does not begin with http"},
		{"unix", "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "cannot be read"},
		{"zero-width in scheme", "https\u200b://a.b/", "cannot be read"},
		{"tab in scheme", "ht\ttps://a.b/", "blank or a control"},
		{"opaque", "https:a.b", "has no host"},
		{"one slash", "https:/a.b/", "has no host"},
		{"three slashes", "https:///a.b/", "has no host"},
		{"backslashes", `https:\\a.b\`, "backslash"},
		{"backslash before user info", `https://a.b\@evil.com/`, "backslash"},
		{"user info", "https://user@a.b/", "user info"},
		{"password", "https://user:pass@a.b/", "user info"},
		{"empty user info", "https://@a.b/", "user info"},
		{"leading blank", " https://a.b/", "blank"},
		{"trailing newline", "https://a.b/\n", "blank"},
		{"blank in query", "https://a.b/?q=x y", "blank"},
		{"nul", "https://a.b/\x00", "control"},
		{"invalid UTF-8", "https://a.b/\xff", "UTF-8"},
		{"too long", "https://a.b/" + strings.Repeat("a", maxURL), "longer"},
		{"percent in host", "https://a.b%2ec/", ""},
		{"bad escape", "https://a.b/%zz", "cannot be read"},
		{"decimal loopback", "http://2130706433/", "an unusual spelling of an address, a private address (loopback)"},
		{"octal metadata", "http://0251.0376.0251.0376/", "an unusual spelling of an address, a cloud metadata address"},
		{"short public", "http://1.1/", "an unusual spelling of an address"},
		{"too many parts", "http://1.2.3.4.5/", "not a host name"},
		{"zone", "http://[fe80::1%25eth0]/", "not a host name"},
		{"port 0", "https://a.b:0/", "not a host name"},
		{"port word", "https://a.b:http/", "cannot be read"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseURL(tt.raw)
			wantRefused(t, "ParseURL", err, tt.reason)
		})
	}
}

func TestErrorsDoNotRepeatTheURL(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"https://u:s3cr3t@a.b/", "ftp://a.b/?key=s3cr3t", "https://a.b/ ?key=s3cr3t", "https://a.b/%zz?s3cr3t"} {
		if _, err := ParseURL(raw); err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("ParseURL(%q) = %v, want an error without the secret", raw, err)
		}
	}
}

// FuzzParseURL holds that what is accepted has one reading: printed and
// parsed again it leads to the same origin, which is in canonical form.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"https://a.b/", "http://[::1]:80/", "https://A.b.:443/?x#y", `http://a\b/`, "http://a.b@c.d/", "http://①.①"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := ParseURL(raw)
		if err != nil {
			return
		}
		o, err := originOf(u)
		if err != nil {
			t.Fatalf("originOf(%q) = %v", raw, err)
		}
		again, err := url.Parse(u.String())
		if err != nil {
			t.Fatalf("url.Parse(%q) = %v", u, err)
		}
		if p, err := originOf(again); err != nil || p != o {
			t.Errorf("originOf(%q) = %v, but of %q %v, %v", raw, o, u, p, err)
		}
		canonical := &url.URL{Scheme: o.scheme, Host: o.urlHost(u), Path: "/"}
		if p, err := originOf(canonical); err != nil || p != o {
			t.Errorf("%q is sent to %s, which is %v (%v), want %v", raw, canonical, p, err, o)
		}
	})
}
