package scoped

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// maxStandIns bounds the secrets of one child, and the hosts of each: the
	// proxy looks for every stand-in of a host in every request to it.
	maxStandIns = 32
	// standInPrefix makes a stand-in known to people who find one in a log.
	standInPrefix = "sallyport-"
	// standInBytes is the entropy of a stand-in. 128 bits cannot be guessed,
	// so that only the child can make the proxy put a secret anywhere.
	standInBytes = 16
)

// insertStandIns puts stand-ins for the asked secrets into the environment and lists
// what takes their place. The values go to the runner and nowhere else.
func (p processAccessor) insertStandIns(ctx context.Context, spawn *sallyport.Spawn) error {
	o := &spawn.Options
	if len(o.Secrets) == 0 {
		return nil
	}
	if len(o.Secrets) > maxStandIns {
		return sallyport.InputInvalid(fmt.Sprintf("more than %d secrets for one child", maxStandIns))
	}
	// Like the arguments, the list is the tool's own, which might change it.
	o.Secrets = slices.Clone(o.Secrets)
	if o.Env == nil {
		o.Env = make(map[string]string, len(o.Secrets))
	}
	// Everything is judged before the first value is asked for.
	hosts := make([][]string, len(o.Secrets))
	for i := range o.Secrets {
		s := &o.Secrets[i]
		if err := checkStandInName(s.Env, o.Env); err != nil {
			return err
		}
		var err error
		if hosts[i], err = p.receivingHosts(s); err != nil {
			return err
		}
		s.Hosts, o.Env[s.Env] = hosts[i], newStandIn()
	}
	for i, s := range o.Secrets {
		value, err := p.b.secrets.Get(ctx, s.Ref)
		if err != nil {
			return err
		}
		if showsSecret(spawn, value.Reveal()) {
			return sallyport.InputInvalid("the value of " + s.Ref + " stands in what the child is given beside its stand-in")
		}
		spawn.Splices = append(spawn.Splices, sallyport.Splice{
			Placeholder: o.Env[s.Env], Value: value, Hosts: hosts[i], Prefixes: s.Prefixes,
		})
	}
	return checkArgumentSizes(spawn.Args, o.Env)
}

// checkStandInName checks the variable of a stand-in. A reserved one is an
// error here: the tool asks for it by name, and would miss it.
func checkStandInName(name string, env map[string]string) error {
	switch _, taken := env[name]; {
	case !reach.IsEnvName(name):
		return sallyport.InputInvalid("the variable of a secret has no portable name")
	case reach.ReservedEnv(name):
		return sallyport.InputInvalid("the variable " + clipItem(name) + " steers a child from outside and cannot hold a secret")
	case taken:
		return sallyport.InputInvalid("the variable " + clipItem(name) + " is given twice")
	default:
		return nil
	}
}

// receivingHosts returns the canonical hosts that get a secret. Each has to be
// granted as a whole: a secret for more hosts than the tool may reach is a
// mistake, and one for any host is a leak.
func (p processAccessor) receivingHosts(s *sallyport.ChildSecret) ([]string, error) {
	if len(s.Hosts) == 0 || len(s.Hosts) > maxStandIns {
		return nil, sallyport.InputInvalid(fmt.Sprintf("a secret for a child names 1 to %d hosts", maxStandIns))
	}
	allowed, err := reach.ParseHosts(p.b.scope.grant.Network.Allow)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", group.Network, err)
	}
	granted := reach.NewHosts(allowed)
	out := make([]string, 0, len(s.Hosts))
	for _, text := range s.Hosts {
		host, err := reach.ParseHost(text)
		switch {
		case err != nil:
			return nil, sallyport.InputInvalid("a host of a secret for a child is not well formed")
		case host.Any():
			return nil, sallyport.InputInvalid("a secret for a child names its hosts: * is none")
		case !granted.Covers(host):
			name := host.String()
			p.b.recordRefusal(group.Network, name, matchesHost(host))
			return nil, sallyport.HostError(name, "")
		}
		out = append(out, host.String())
	}
	return out, nil
}

// matchesHost finds the dropped entries that would have allowed a pattern.
func matchesHost(host reach.HostPattern) func(string) bool {
	return func(entry string) bool {
		p, err := reach.ParseHost(entry)
		return err == nil && p.Covers(host)
	}
}

func showsSecret(spawn *sallyport.Spawn, value string) bool {
	holds := func(s string) bool { return strings.Contains(s, value) }
	if slices.ContainsFunc(spawn.Args, holds) || holds(string(spawn.Options.Stdin)) {
		return true
	}
	for name, text := range spawn.Options.Env {
		if holds(name) || holds(text) {
			return true
		}
	}
	return false
}

// newStandIn returns a fresh stand-in. Reading random bytes does not fail
// (crypto/rand since Go 1.24).
func newStandIn() string {
	var b [standInBytes]byte
	_, _ = rand.Read(b[:])
	return standInPrefix + hex.EncodeToString(b[:])
}
