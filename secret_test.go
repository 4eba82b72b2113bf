package sallyport_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

const hidden = "hunter2-Zq9xY7w"

// forms returns the ways in which a printer may spell the value.
func forms() []string {
	return []string{
		hidden, fmt.Sprintf("%x", hidden), fmt.Sprintf("%X", hidden), fmt.Sprintf("% x", hidden),
		fmt.Sprint([]byte(hidden)), strings.Trim(fmt.Sprint([]byte(hidden)), "[]"),
	}
}

func shows(text string) bool {
	for _, f := range forms() {
		if strings.Contains(text, f) {
			return true
		}
	}
	return false
}

// holder holds a secret in a field on which package fmt may not call methods.
type holder struct {
	s sallyport.Secret
	p *sallyport.Secret
}

// open holds a secret in a field on which package fmt may call methods.
type open struct {
	S sallyport.Secret
	P *sallyport.Secret
	A any
}

func TestSecretNeverPrints(t *testing.T) {
	s := sallyport.NewSecret(hidden)
	values := []struct {
		name  string
		value any
	}{
		{"value", s},
		{"pointer", &s},
		{"exported field", open{s, &s, s}},
		{"unexported field", holder{s, &s}},
		{"pointer to unexported field", &holder{s, &s}},
		{"slice", []sallyport.Secret{s}},
		{"map", map[string]sallyport.Secret{"a": s}},
		{"key of a map", map[sallyport.Secret]int{s: 1}},
		{"list of anything", []any{s, holder{s, &s}}},
		{"error", errors.Join(fmt.Errorf("with %v", s), fmt.Errorf("and %d", s))},
	}
	verbs := []string{
		"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b", "%o", "%O", "%c", "%U", "%t", "%e", "%g", "%p", "%w", "%20s", "%.3s", "%z", "%!",
	}
	for _, v := range values {
		t.Run(v.name, func(t *testing.T) {
			for _, verb := range verbs {
				if got := fmt.Sprintf(verb, v.value); shows(got) {
					t.Errorf("Sprintf(%s) = %s, which shows the secret", verb, got)
				}
			}
			if got := fmt.Sprintln(v.value); shows(got) {
				t.Errorf("Sprintln() = %s, which shows the secret", got)
			}
		})
	}
}

func TestSecretNeverEncodes(t *testing.T) {
	s := sallyport.NewSecret(hidden)
	for _, v := range []any{s, &s, open{s, &s, s}, holder{s, &s}, map[string]any{"a": s}} {
		text, err := json.Marshal(v)
		if err != nil || shows(string(text)) {
			t.Errorf("json.Marshal(%T) = %s, %v, want no secret", v, text, err)
		}
	}
	if text, err := json.Marshal(s); string(text) != `"[redacted]"` {
		t.Errorf("json.Marshal(secret) = %s, %v, want [redacted]", text, err)
	}
	if text, err := xml.Marshal(open{S: s}); err != nil || shows(string(text)) {
		t.Errorf("xml.Marshal() = %s, %v, want no secret", text, err)
	}
	if text, err := s.MarshalText(); string(text) != "[redacted]" || err != nil {
		t.Errorf("MarshalText() = %s, %v, want [redacted]", text, err)
	}
}

func TestSecretIsNotLogged(t *testing.T) {
	s := sallyport.NewSecret(hidden)
	var buf bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&buf, nil), slog.NewJSONHandler(&buf, nil)} {
		buf.Reset()
		slog.New(h).Error("failed", "secret", s, "pointer", &s, "open", open{s, &s, s}, "holder", holder{s, &s},
			slog.Group("g", "s", s), "list", []any{s})
		if got := buf.String(); shows(got) || !strings.Contains(got, "[redacted]") {
			t.Errorf("%T wrote %s, want [redacted] and no secret", h, got)
		}
	}
}

func TestSecretTexts(t *testing.T) {
	s := sallyport.NewSecret(hidden)
	for _, got := range []string{s.String(), s.GoString(), fmt.Sprint(s), fmt.Sprintf("%#v", s), fmt.Sprintf("%d", s), s.LogValue().String()} {
		if got != "[redacted]" {
			t.Errorf("printed %q, want [redacted]", got)
		}
	}
}

func TestSecretRevealsAndCompares(t *testing.T) {
	var zero sallyport.Secret
	if got := zero.Reveal(); got != "" {
		t.Errorf("zero Reveal() = %q, want empty", got)
	}
	if zero != sallyport.NewSecret("") {
		t.Error("the zero Secret differs from that of an empty text")
	}
	a, b := sallyport.NewSecret(hidden), sallyport.NewSecret(strings.Clone(hidden))
	if a != b || a == sallyport.NewSecret("another") || a == zero {
		t.Error("secrets do not compare by value")
	}
	if a.Reveal() != hidden {
		t.Errorf("Reveal() = %q, want the value", a.Reveal())
	}
}
