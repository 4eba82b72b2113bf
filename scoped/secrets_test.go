package scoped_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	source := scopedtest.Secrets{"providers/exa/apiKey": "correct horse", "providers/exa/pin": "1234567", "mail/user": "agent@example.com"}
	tests := []struct {
		name string
		ref  string
		want string
		err  string
	}{
		{name: "below a prefix", ref: "providers/exa/apiKey", want: "correct horse"},
		{name: "exact", ref: "mail/user", want: "agent@example.com"},
		{name: "absent", ref: "providers/exa/other", err: "secret providers/exa/other not found"},
		{name: "short", ref: "providers/exa/pin", err: "secret providers/exa/pin is refused: its value has fewer than 8 bytes"},
		{name: "outside", ref: "mail/password", err: "SECRET_NOT_DECLARED: mail/password is not in the tool's declared secrets"},
		{name: "the pattern itself", ref: "providers/exa/*", err: "SECRET_NOT_DECLARED: providers/exa/* is not in the tool's declared secrets"},
		{name: "two dots", ref: "providers/exa/../../mail/password", err: "SECRET_NOT_DECLARED: providers/exa/../../mail/password is not in the tool's declared secrets"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := &sallyport.Grant{Secrets: []string{"mail/user", "providers/exa/*"}}
			c, binding, j := bind(t, g, &sallyport.Backends{Secrets: source})
			got, err := c.Secrets.Get(t.Context(), tt.ref)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err || got.Reveal() != "" || len(binding.Revealed()) != 0 {
					t.Errorf("Get(%q) = %q, %v, want the error %q and nothing revealed", tt.ref, got.Reveal(), err, tt.err)
				}
				if len(j.reasons()) != 1 || reach.IsSecretFailure(err) == errors.Is(err, sallyport.ErrSecretNotDeclared) {
					t.Errorf("Get(%q) = %v and noted %q, want one note, and a failure of the secret unless it is not granted", tt.ref, err, j.reasons())
				}
				return
			}
			if err != nil || got.Reveal() != tt.want {
				t.Fatalf("Get(%q) = %q, %v, want %q", tt.ref, got.Reveal(), err, tt.want)
			}
			if d := cmp.Diff([]string{"secrets [" + tt.ref + "] get " + tt.ref}, j.reasons()); d != "" {
				t.Errorf("decisions (-want +got):\n%s", d)
			}
			if r := binding.Revealed(); len(r) != 1 || r[0].Reveal() != tt.want {
				t.Errorf("Revealed = %d values, want the one that was handed out", len(r))
			}
		})
	}
}

// rotating hands out another value each time it is asked.
type rotating struct{ values []string }

func (r *rotating) Secret(context.Context, string) (sallyport.Secret, bool, error) {
	value := r.values[0]
	r.values = r.values[1:]
	return sallyport.NewSecret(value), true, nil
}

func (r *rotating) Known(context.Context) ([]sallyport.Secret, error) { return nil, nil }

func TestASecretIsAskedOncePerCall(t *testing.T) {
	t.Parallel()
	source := &rotating{values: []string{"first value", "second value"}}
	c, _, j := bind(t, &sallyport.Grant{Secrets: []string{"a"}}, &sallyport.Backends{Secrets: source})
	for range 2 {
		if got, err := c.Secrets.Get(t.Context(), "a"); err != nil || got.Reveal() != "first value" {
			t.Errorf("Get(a) = %q, %v, want the first value again", got.Reveal(), err)
		}
	}
	if len(j.reasons()) != 1 {
		t.Errorf("decisions = %q, want one for one reference", j.reasons())
	}
}

// TestSecretsAskedAtOnce: two goroutines that asked at once may hold two values
// of a secret that rotates, and the gate has to know both.
func TestSecretsAskedAtOnce(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][2]string{
		"rotating": {"first value", "second value"}, "steady": {"one value", "one value"},
	} {
		source := &meeting{values: values}
		c, binding, _ := bind(t, &sallyport.Grant{Secrets: []string{"a"}}, &sallyport.Backends{Secrets: source})
		held := make(chan string, 2)
		for range 2 {
			go func() {
				value, _ := c.Secrets.Get(t.Context(), "a")
				held <- value.Reveal()
			}()
		}
		want := map[string]bool{<-held: true, <-held: true}
		got := map[string]bool{}
		for _, value := range binding.Revealed() {
			got[value.Reveal()] = true
		}
		if d := cmp.Diff(want, got); d != "" || len(binding.Revealed()) != len(want) {
			t.Errorf("%s: Revealed (-held by the tool +got):\n%s", name, d)
		}
	}
}

// meeting answers when two have asked, each with its value.
type meeting struct {
	values [2]string
	asked  atomic.Int32
}

func (m *meeting) Secret(context.Context, string) (sallyport.Secret, bool, error) {
	i := m.asked.Add(1) - 1
	for m.asked.Load() < 2 {
		runtime.Gosched()
	}
	return sallyport.NewSecret(m.values[i]), true, nil
}

func (m *meeting) Known(context.Context) ([]sallyport.Secret, error) { return nil, nil }
