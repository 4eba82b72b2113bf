package secrets

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
)

func newEnv(t *testing.T, environ ...string) *Env {
	t.Helper()
	e, err := NewEnv("SP_", environ)
	if err != nil {
		t.Fatalf("NewEnv(SP_) = %v", err)
	}
	return e
}

func TestNewEnvRefusesPrefix(t *testing.T) {
	for _, prefix := range []string{"", "1_", "SP-", "SP=", "SP_\x00", "ÄÖ_"} {
		if _, err := NewEnv(prefix, nil); err == nil {
			t.Errorf("NewEnv(%q) = nil error, want a refusal", prefix)
		}
	}
}

func TestEnvSecret(t *testing.T) {
	e := newEnv(t, "SP_PROVIDERS_OPENWEATHER_APIKEY=correct horse", "SP_A_B_C=with=sign", "SP_SHORT=1234567",
		"SP_EMPTY=", "SP_TWICE=first value", "SP_TWICE=second value", "PATH=/usr/bin:/bin", "broken", "=C:=C:\\")
	tests := []struct {
		name    string
		ref     string
		want    string
		wantErr string
	}{
		{name: "camel case", ref: "providers/openweather/apiKey", want: "correct horse"},
		{name: "dash and dot", ref: "a-b.c", want: "with=sign"},
		{name: "first of two", ref: "twice", want: "first value"},
		{name: "absent", ref: "providers/exa/apiKey"},
		{name: "empty", ref: "empty"},
		{name: "no variable for it", ref: "schlüssel"},
		{name: "outside the prefix", ref: "PATH"},
		{name: "short", ref: "short", wantErr: "secret short is refused: its value has fewer than 8 bytes"},
		{name: "empty segment", ref: "a//b", wantErr: "segment"},
		{name: "pattern", ref: "a/*", wantErr: "pattern"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok, err := e.Secret(t.Context(), tt.ref)
			if tt.wantErr != "" {
				if err == nil || ok || !strings.Contains(err.Error(), tt.wantErr) || strings.Contains(err.Error(), "1234567") {
					t.Errorf("Secret(%q) = %t, %v, want an error with %q and without the value", tt.ref, ok, err, tt.wantErr)
				}
				return
			}
			if err != nil || ok != (tt.want != "") || got.Reveal() != tt.want {
				t.Errorf("Secret(%q) = %q, %t, %v, want %q", tt.ref, got.Reveal(), ok, err, tt.want)
			}
		})
	}
}

func TestEnvKnownIsEveryVariableWithThePrefix(t *testing.T) {
	e := newEnv(t, "SP_ONE=first value", "HOME=/home/someone", "SP_TWO=second value", "SP_SHORT=123")
	if d := cmp.Diff([]string{"first value", "second value"}, known(t, e)); d != "" {
		t.Errorf("Known (-want +got):\n%s", d)
	}
}

func TestEnvCheck(t *testing.T) {
	tests := []struct {
		name string
		refs []string
		want []string
	}{
		{name: "distinct", refs: []string{"a/b", "a/c", "a/b"}},
		{name: "covered by a pattern", refs: []string{"providers/*", "providers/exa/apiKey", "providers/exa/*"}},
		{name: "no variable for it", refs: []string{"schlüssel", "schlüssel/*"}},
		{name: "dash and underscore", refs: []string{"a/b-c", "a/b_c"}, want: []string{`"a/b-c" and "a/b_c"`, "SP_A_B_C"}},
		{name: "slash and underscore", refs: []string{"a/b", "a_b"}, want: []string{`"a/b" and "a_b"`}},
		{name: "case", refs: []string{"apiKey", "APIKEY"}, want: []string{"SP_APIKEY"}},
		{name: "pattern and reference", refs: []string{"db/*", "db-prod/password"}, want: []string{`"db/*" and "db-prod/password"`}},
		{name: "reference and pattern", refs: []string{"db-prod/password", "db/*"}, want: []string{`"db-prod/password" and "db/*"`}},
		{name: "two patterns the other way", refs: []string{"db/*", "db-prod/*"}, want: []string{`"db/*" and "db-prod/*"`}},
		{name: "two patterns", refs: []string{"db-prod/*", "db/*"}, want: []string{`"db-prod/*" and "db/*"`}},
		{name: "same name as a prefix", refs: []string{"db/*", "dbx/password"}},
		{name: "no reference", refs: []string{"a//b", "a/b-c", "a/b.c"}, want: []string{`"a//b"`, `"a/b-c" and "a/b.c"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := newEnv(t).Check(tt.refs)
			if (err != nil) != (tt.want != nil) {
				t.Fatalf("Check(%q) = %v, want %q", tt.refs, err, tt.want)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("Check(%q) = %v, want %q in it", tt.refs, err, part)
				}
			}
		})
	}
}

// FuzzEnvCheck: where Check has no objection, two references share a variable
// only when they are one, or when the declared patterns cover both.
func FuzzEnvCheck(f *testing.F) {
	f.Add("a/b-c", "a/b_c")
	f.Add("db/*", "db-prod/x")
	f.Add("A", "a")
	f.Fuzz(func(t *testing.T, a, b string) {
		e, err := NewEnv("SP_", nil)
		if err != nil {
			t.Fatal(err)
		}
		if e.Check([]string{a, b}) != nil {
			return
		}
		nameA, okA := Variable(e.prefix, a)
		nameB, okB := Variable(e.prefix, b)
		if okA && okB && nameA == nameB && a != b {
			t.Fatalf("Check(%q, %q) = nil, both lead to %s", a, b, nameA)
		}
		if err1, err2 := e.Check([]string{b, a}), e.Check([]string{a, b}); (err1 == nil) != (err2 == nil) {
			t.Fatalf("Check(%q, %q) depends on the order: %v, %v", a, b, err1, err2)
		}
	})
}

func known(t *testing.T, s sallyport.SecretSource) []string {
	t.Helper()
	list, err := s.Known(t.Context())
	if err != nil {
		t.Fatalf("Known = %v", err)
	}
	var values []string
	for _, k := range list {
		values = append(values, k.Reveal())
	}
	return values
}
