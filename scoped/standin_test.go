package scoped_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"pgregory.net/rapid"
)

// gitGrant is what a tool needs that pushes with a token it never sees.
func gitGrant() *sallyport.Grant {
	return &sallyport.Grant{
		Network: sallyport.NetworkGrant{Allow: []string{"*.github.com", "api.example.com:8443"}},
		Secrets: []string{"git/*"}, Process: sallyport.ProcessGrant{Binaries: []string{"git"}},
	}
}

func gitBackends(r *scopedtest.Runner) *sallyport.Backends {
	return &sallyport.Backends{
		Network: &sallyport.NetworkBackend{}, Process: r,
		Secrets: scopedtest.Secrets{"git/token": "correct horse battery", "git/other": "staple in the hay"},
	}
}

func TestStandIn(t *testing.T) {
	t.Parallel()
	runner := &scopedtest.Runner{}
	c, binding, j := bind(t, gitGrant(), gitBackends(runner))
	asked := []sallyport.ChildSecret{
		{Env: "GITHUB_TOKEN", Ref: "git/token", Hosts: []string{"API.github.com.", "*.github.com"}},
		{Env: "OTHER", Ref: "git/other", Hosts: []string{"api.example.com:8443"}},
	}
	o := &sallyport.SpawnOptions{Env: map[string]string{"FOO": "bar"}, Secrets: asked}
	if _, err := c.Process.Spawn(t.Context(), "git", []string{"push"}, o); err != nil {
		t.Fatalf("Spawn = %v", err)
	}
	got := runner.Spawned()[0]
	if len(got.Splices) != 2 || len(got.Options.Env) != 3 {
		t.Fatalf("splices %+v, environment %q, want two stand-ins", got.Splices, got.Options.Env)
	}
	wantHosts := [][]string{{"api.github.com", "*.github.com"}, {"api.example.com:8443"}}
	for i, s := range got.Splices {
		if s.Placeholder != got.Options.Env[asked[i].Env] || !strings.HasPrefix(s.Placeholder, "sallyport-") || len(s.Placeholder) != 42 {
			t.Errorf("stand-in %q, variable %q, want the same sallyport- and 32 digits", s.Placeholder, got.Options.Env[asked[i].Env])
		}
		if d := cmp.Diff(wantHosts[i], s.Hosts); d != "" {
			t.Errorf("hosts of %s (-want +got):\n%s", asked[i].Ref, d)
		}
	}
	if got.Splices[0].Value.Reveal() != "correct horse battery" || got.Splices[0].Placeholder == got.Splices[1].Placeholder {
		t.Errorf("splices = %+v, want each value behind a stand-in of its own", got.Splices)
	}
	if n := len(binding.Revealed()); n != 2 {
		t.Errorf("%d values are cleaned from the result, want both", n)
	}
	if len(o.Env) != 1 || asked[0].Hosts[0] != "API.github.com." {
		t.Errorf("the tool's own options were changed to %+v", o)
	}
	want := "process [git] spawn git with stand-ins: git/token for api.github.com, *.github.com; git/other for api.example.com:8443"
	if !slices.Contains(j.reasons(), want) {
		t.Errorf("decisions = %q, want %q", j.reasons(), want)
	}
	// A second child gets another stand-in for the same secret.
	if _, err := c.Process.Spawn(t.Context(), "git", nil, o); err != nil {
		t.Fatal(err)
	}
	if again := runner.Spawned()[1].Splices[0].Placeholder; again == got.Splices[0].Placeholder {
		t.Errorf("two children have the stand-in %q", again)
	}
}

func TestStandInRefusals(t *testing.T) {
	t.Parallel()
	ok := sallyport.ChildSecret{Env: "TOKEN", Ref: "git/token", Hosts: []string{"api.github.com"}}
	with := func(edit func(*sallyport.ChildSecret)) []sallyport.ChildSecret {
		s := ok
		edit(&s)
		return []sallyport.ChildSecret{s}
	}
	tests := []struct {
		name    string
		secrets []sallyport.ChildSecret
		args    []string
		env     map[string]string
		stdin   string
		want    string
		is      error
	}{
		{name: "ungranted reference", secrets: with(func(s *sallyport.ChildSecret) { s.Ref = "aws/key" }), is: sallyport.ErrSecretNotDeclared, want: "SECRET_NOT_DECLARED: aws/key is not in the tool's declared secrets"},
		{name: "missing value", secrets: with(func(s *sallyport.ChildSecret) { s.Ref = "git/none" }), is: sallyport.ErrExecutionFailed, want: "secret git/none not found"},
		{name: "ungranted host", secrets: with(func(s *sallyport.ChildSecret) { s.Hosts = []string{"api.github.com", "evil.example"} }), is: sallyport.ErrHostNotAllowed, want: "HOST_NOT_ALLOWED: evil.example is not in the declared allowedHosts"},
		{name: "wider host", secrets: with(func(s *sallyport.ChildSecret) { s.Hosts = []string{"*.com"} }), is: sallyport.ErrHostNotAllowed, want: "HOST_NOT_ALLOWED: *.com is not in the declared allowedHosts"},
		{name: "other port", secrets: with(func(s *sallyport.ChildSecret) { s.Hosts = []string{"api.example.com"} }), is: sallyport.ErrHostNotAllowed, want: "HOST_NOT_ALLOWED: api.example.com is not in the declared allowedHosts"},
		{name: "any host", secrets: with(func(s *sallyport.ChildSecret) { s.Hosts = []string{"*"} }), is: sallyport.ErrInputInvalid, want: "a secret for a child names its hosts: * is none"},
		{name: "broken host", secrets: with(func(s *sallyport.ChildSecret) { s.Hosts = []string{"https://x/"} }), is: sallyport.ErrInputInvalid, want: "a host of a secret for a child is not well formed"},
		{name: "no host", secrets: with(func(s *sallyport.ChildSecret) { s.Hosts = nil }), is: sallyport.ErrInputInvalid, want: "a secret for a child names 1 to 32 hosts"},
		{name: "reserved variable", secrets: with(func(s *sallyport.ChildSecret) { s.Env = "LD_PRELOAD" }), is: sallyport.ErrInputInvalid, want: "the variable LD_PRELOAD steers a child from outside and cannot hold a secret"},
		{name: "no variable", secrets: with(func(s *sallyport.ChildSecret) { s.Env = "A=B" }), is: sallyport.ErrInputInvalid, want: "the variable of a secret has no portable name"},
		{name: "variable of the tool", secrets: []sallyport.ChildSecret{ok}, env: map[string]string{"TOKEN": "x"}, is: sallyport.ErrInputInvalid, want: "the variable TOKEN is given twice"},
		{name: "same variable", secrets: []sallyport.ChildSecret{ok, ok}, is: sallyport.ErrInputInvalid, want: "the variable TOKEN is given twice"},
		{name: "too many", secrets: make([]sallyport.ChildSecret, 33), is: sallyport.ErrInputInvalid, want: "more than 32 secrets for one child"},
		{name: "value in an argument", secrets: []sallyport.ChildSecret{ok}, args: []string{"https://correct horse battery@github.com"}, is: sallyport.ErrInputInvalid, want: "the value of git/token stands in what the child is given beside its stand-in"},
		{name: "value in a variable", secrets: []sallyport.ChildSecret{ok}, env: map[string]string{"A": "correct horse battery"}, is: sallyport.ErrInputInvalid, want: "the value of git/token stands in what the child is given beside its stand-in"},
		{name: "value in the input", secrets: []sallyport.ChildSecret{ok}, stdin: "x correct horse battery", is: sallyport.ErrInputInvalid, want: "the value of git/token stands in what the child is given beside its stand-in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runner := &scopedtest.Runner{}
			c, _, _ := bind(t, gitGrant(), gitBackends(runner))
			o := &sallyport.SpawnOptions{Env: tt.env, Stdin: []byte(tt.stdin), Secrets: tt.secrets}
			_, err := c.Process.Spawn(t.Context(), "git", tt.args, o)
			if err == nil || err.Error() != tt.want || !errors.Is(err, tt.is) || len(runner.Spawned()) != 0 {
				t.Errorf("Spawn = %v after %d processes, want %q and none", err, len(runner.Spawned()), tt.want)
			}
		})
	}
}

// TestStandInHostsAreJudgedFirst: a request for a host that is not granted
// leaves the secret where it is.
func TestStandInHostsAreJudgedFirst(t *testing.T) {
	t.Parallel()
	c, binding, j := bind(t, gitGrant(), gitBackends(&scopedtest.Runner{}))
	_, err := c.Process.Start(t.Context(), "git", nil, &sallyport.SpawnOptions{Secrets: []sallyport.ChildSecret{
		{Env: "A", Ref: "git/token", Hosts: []string{"api.github.com"}},
		{Env: "B", Ref: "git/other", Hosts: []string{"evil.example"}},
	}})
	if !errors.Is(err, sallyport.ErrHostNotAllowed) || len(binding.Revealed()) != 0 {
		t.Errorf("Start = %v with %d values revealed, want a refusal and none", err, len(binding.Revealed()))
	}
	if d := cmp.Diff([]string{"refused network [evil.example] evil.example is outside the grant"}, j.reasons()); d != "" {
		t.Errorf("decisions (-want +got):\n%s", d)
	}
}

// TestStandInHidesTheValue: whatever else a tool passes along, a child that is
// started sees no value, and every value has its hosts.
func TestStandInHidesTheValue(t *testing.T) {
	t.Parallel()
	words := rapid.StringMatching(`[a-z ]{0,8}|correct horse battery|xcorrect horse batteryx`)
	rapid.Check(t, func(rt *rapid.T) {
		runner := &scopedtest.Runner{}
		c, _, _ := bind(t, gitGrant(), gitBackends(runner))
		o := &sallyport.SpawnOptions{
			Env:     rapid.MapOf(rapid.StringMatching(`[A-Z]{1,3}`), words).Draw(rt, "env"),
			Stdin:   []byte(words.Draw(rt, "stdin")),
			Secrets: []sallyport.ChildSecret{{Env: "GITHUB_TOKEN", Ref: "git/token", Hosts: []string{"api.github.com"}}},
		}
		args := rapid.SliceOf(words).Draw(rt, "args")
		_, err := c.Process.Spawn(rt.Context(), "git", args, o)
		if err != nil {
			if !errors.Is(err, sallyport.ErrInputInvalid) {
				rt.Fatalf("Spawn = %v, want it started or input_invalid", err)
			}
			return
		}
		got := runner.Spawned()[0]
		texts := slices.Concat(got.Args, slices.Collect(maps.Keys(got.Options.Env)), slices.Collect(maps.Values(got.Options.Env)), []string{string(got.Options.Stdin)})
		for _, text := range texts {
			if strings.Contains(text, "correct horse battery") {
				rt.Fatalf("the child is given %q", text)
			}
		}
		if len(got.Splices) != 1 || got.Options.Env["GITHUB_TOKEN"] != got.Splices[0].Placeholder {
			rt.Fatalf("splices %+v, environment %q, want the stand-in in both", got.Splices, got.Options.Env)
		}
	})
}
