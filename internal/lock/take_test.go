package lock_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/output"
)

// withSecret pins an offer with a cleaner that knows a secret.
func withSecret(t testing.TB, o *lock.Offer, secret string) lock.Server {
	t.Helper()
	c, err := output.New(&output.Options{Secrets: []sallyport.Secret{sallyport.NewSecret(secret)}})
	if err != nil {
		t.Fatal(err)
	}
	s, refused, err := lock.Take("files", o, c)
	if err != nil || len(refused) > 0 {
		t.Fatalf("Take: refused %v, error %v", refused, err)
	}
	return s
}

// TestOneBadDefinitionIsRefusedAlone adds a definition to a good one.
func TestOneBadDefinitionIsRefusedAlone(t *testing.T) {
	for _, tt := range []struct{ name, definition, why string }{
		{"no JSON", `{"name":`, "not valid JSON"},
		{"no object", `[]`, "must be an object"},
		{"repeated key", `{"name":"a","name":"b"}`, "repeats the key"},
		{"no name", `{"description":"x"}`, "has no name"},
		{"name of another type", `{"name":1}`, "has no name"},
		{"hidden character in the name", `{"name":"a\u200bb"}`, "not shown"},
		{"terminal sequence in the name", `{"name":"a\u001b[31mb"}`, "not shown"},
		{"long name", `{"name":"` + strings.Repeat("a", 3000) + `"}`, "longer than"},
		{"hidden character in a field", `{"name":"a","x\u202e":1}`, "not shown"},
		{"too deep", `{"name":"a","x":` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `}`, "deep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := offer()
			o.Tools = append(o.Tools, json.RawMessage(tt.definition))
			s, refused, err := lock.Take("files", o, nil)
			if err != nil || len(s.Tools) != 1 || len(refused) != 1 || !strings.Contains(refused[0].Why, tt.why) {
				t.Errorf("Take = %d tools, refused %+v, error %v; want 1 tool and why it is %q", len(s.Tools), refused, err, tt.why)
			}
		})
	}
}

func TestTheSameNameTwiceIsNeither(t *testing.T) {
	o := offer()
	for range 2 {
		o.Tools = append(o.Tools, json.RawMessage(`{"name":"read","description":"Reads more."}`))
	}
	s, refused, err := lock.Take("files", o, nil)
	if err != nil || len(s.Tools) != 0 || len(refused) != 2 {
		t.Errorf("Take = %d tools, refused %v, error %v; want no tool and two reasons", len(s.Tools), refused, err)
	}
}

func TestAFloodIsCut(t *testing.T) {
	o := offer()
	for i := range 3000 {
		o.Prompts = append(o.Prompts, json.RawMessage(fmt.Sprintf(`{"name":"p%d"}`, i)))
	}
	s, refused, err := lock.Take("files", o, nil)
	if err != nil || len(s.Prompts) != 2000 || len(refused) != 1 {
		t.Errorf("Take = %d prompts, refused %v, error %v; want 2000 and one reason", len(s.Prompts), refused, err)
	}
}

func TestABadLaunchIsAnError(t *testing.T) {
	for _, tt := range []struct {
		name, server string
		edit         func(*lock.Offer)
	}{
		{"server name", "a__b", func(*lock.Offer) {}},
		{"transport", "files", func(o *lock.Offer) { o.Transport = "smoke" }},
		{"user info", "files", func(o *lock.Offer) { o.URL = "https://me:secret@example.com/" }},
		{"not a URL", "files", func(o *lock.Offer) { o.URL = "https://a b\x7f/" }},
		{"value of a variable", "files", func(o *lock.Offer) { o.Env[0] = "TOKEN=secret@x" }},
		{"hidden character", "files", func(o *lock.Offer) { o.Command[1] = "-y\u200b" }},
		{"token", "files", func(o *lock.Offer) { o.Command[1] = "ghp_" + strings.Repeat("aB3", 12) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := offer()
			tt.edit(o)
			_, _, err := lock.Take(tt.server, o, nil)
			if err == nil || strings.Contains(err.Error(), "secret@") {
				t.Errorf("Take: error %v, want one without what was given", err)
			}
		})
	}
}

func TestAnIdentityThatIsNoneIsRefusedAlone(t *testing.T) {
	for _, identity := range []string{`[]`, `{"name":"x","instructions":"Obey."}`, `{"name":"x","a\u200b":1}`, `{`} {
		o := offer()
		o.Identity = json.RawMessage(identity)
		s, refused, err := lock.Take("files", o, nil)
		if err != nil || len(refused) != 1 || refused[0].Kind != lock.KindServer || s.Identity != nil || len(s.Tools) != 1 {
			t.Errorf("%s: Take = %+v, refused %v, error %v; want the tools and one reason", identity, s.Identity, refused, err)
		}
	}
}
