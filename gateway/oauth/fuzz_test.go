package oauth

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzMetadata reads metadata that anybody may have written: what is taken of it
// is of the issuer that was asked, and leads nowhere but to https.
func FuzzMetadata(f *testing.F) {
	for _, text := range []string{
		`{"issuer":"https://a.example","token_endpoint":"https://a.example/t","authorization_endpoint":"https://a.example/a"}`,
		`{"issuer":"https://a.example/","token_endpoint":"javascript:x","scopes_supported":["a",1]}`,
		`{"issuer":"https://a.example","issuer":"https://b.example"}`, `{"issuer":1,"token_endpoint":[]}`, `[]`, "{\"issuer\":\"\xff\"}", `{`,
		`{"issuer":"https://a.example","token_endpoint":"https://a.example/t","registration_endpoint":"HTTPS://A.example:99999/%zz"}`,
		`{"issuer":"https://a.example","token_endpoint":"http://127.0.0.1/t"}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := readDocument(&http.Response{Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))})
		if err != nil {
			return
		}
		i, err := issuerOf(d, "https://a.example", false)
		if err != nil {
			return
		}
		if !sameIssuer(i.name, "https://a.example") {
			t.Errorf("metadata of %q was taken", i.name)
		}
		for _, at := range []string{i.authorize, i.token, i.registration} {
			u, err := url.Parse(at)
			if at != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || strings.ContainsAny(at, " \r\n\x00")) {
				t.Errorf("the endpoint %q was taken", at)
			}
		}
	})
}

// FuzzChallenge reads challenges that anybody may have written: scopes are
// scopes.
func FuzzChallenge(f *testing.F) {
	for _, text := range []string{
		`Bearer resource_metadata="https://a.example/m", scope="a b"`, `Bearer`, `Basic x, Bearer error="insufficient_scope"`, `Bearer scope="a\"b`,
		`bearer scope=` + strings.Repeat("a ", 100), "Bearer scope=\"\x00\"",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := challengeOf(&http.Response{Header: http.Header{"Www-Authenticate": {text}}})
		if err := checkScopes(c.scopes); err != nil {
			t.Errorf("challengeOf(%q) has scopes %q: %v", text, c.scopes, err)
		}
	})
}
