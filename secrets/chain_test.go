package secrets

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
)

var (
	_ sallyport.SecretSource = (*Env)(nil)
	_ sallyport.SecretSource = (*Dir)(nil)
	_ sallyport.SecretSource = (*Chain)(nil)
	_ Checker                = (*Env)(nil)
	_ Checker                = (*Chain)(nil)
)

type broken struct{ err error }

func (b broken) Secret(context.Context, string) (sallyport.Secret, bool, error) {
	return sallyport.NewSecret("never shown"), true, b.err
}

func (b broken) Known(context.Context) ([]sallyport.Secret, error) { return nil, b.err }

func TestChainFirstWins(t *testing.T) {
	d, _ := openDir(t, map[string]string{"a": "value of the file", "b": "only in the file"})
	c := NewChain(newEnv(t, "SP_A=value of the variable"), d)
	for ref, want := range map[string]string{"a": "value of the variable", "b": "only in the file", "c": ""} {
		if got, ok, err := c.Secret(t.Context(), ref); err != nil || ok != (want != "") || got.Reveal() != want {
			t.Errorf("Secret(%s) = %q, %t, %v, want %q", ref, got.Reveal(), ok, err, want)
		}
	}
}

func TestChainStopsAtAFailure(t *testing.T) {
	down := errors.New("vault down")
	c := NewChain(broken{down}, newEnv(t, "SP_A=value of the variable"))
	if got, ok, err := c.Secret(t.Context(), "a"); ok || !errors.Is(err, down) || got.Reveal() == "value of the variable" {
		t.Errorf("Secret(a) behind a failing source = %q, %t, %v, want its error", got.Reveal(), ok, err)
	}
	if _, err := c.Known(t.Context()); !errors.Is(err, down) {
		t.Errorf("Known with a failing source = %v, want its error: a value might pass unseen", err)
	}
}

func TestChainKnownHoldsHiddenValues(t *testing.T) {
	d, _ := openDir(t, map[string]string{"a": "value of the file"})
	c := NewChain(newEnv(t, "SP_A=value of the variable"), d)
	if d := cmp.Diff([]string{"value of the variable", "value of the file"}, known(t, c)); d != "" {
		t.Errorf("Known (-want +got):\n%s", d)
	}
	one, _ := c.Known(t.Context())
	two, _ := c.Known(t.Context())
	if !sameSlice(one, two) {
		t.Error("Known returns another slice although nothing changed")
	}
}

func TestChainCheck(t *testing.T) {
	d, _ := openDir(t, nil)
	if err := NewChain(d, newEnv(t)).Check([]string{"a/b-c", "a/b_c"}); err == nil {
		t.Error("Check(a/b-c, a/b_c) = nil, want the objection of the environment")
	}
	if err := NewChain(d).Check([]string{"a/b-c", "a/b_c"}); err != nil {
		t.Errorf("Check(a/b-c, a/b_c) of a directory = %v, want nil: these are two files", err)
	}
}
