package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
)

// Trial names a server that is started before its client loses it, and a first
// call of it.
type Trial struct {
	// Server is the name of the server in the configuration.
	Server string
	// Tool is the server's name of a tool that shows that it works; without one
	// its lists do.
	Tool string
	// Arguments are the arguments of that call.
	Arguments json.RawMessage
}

// TrialResult says how a server did.
type TrialResult struct {
	// Version is the exact version to write for a package that names none.
	Version string
	// Why is why it does not work; empty for a server that does.
	Why string
}

// Works reports whether the server can take the place of the client's.
func (r *TrialResult) Works() bool { return r.Why == "" }

// TakeOver tries every server through the gate and adds those that work to the
// configuration, pinned. Only then does it replace these in the client's files. A
// server that does not work stays with the client, and the report says why. Where the
// environment can ask, only the servers that the user agrees to are started.
func TakeOver(ctx context.Context, e *Environment, o *Options) error {
	options := *o
	options.Leave, options.Pins, options.Hosts = slices.Clone(o.Leave), slices.Clone(o.Pins), slices.Clone(o.Hosts)
	t := &takeOver{env: e, options: &options, left: map[string]string{}, private: map[string]string{}, suggested: map[string][]string{}, asked: e.Ask == nil}
	for {
		i, p, err := planImport(ctx, e, &options)
		if err != nil {
			return errors.Join(err, t.dropCredentials(ctx, t.client, nil))
		}
		t.client = i.client.Name
		if again, err := t.narrowPlan(ctx, i, p); err == nil && again {
			continue
		} else if err != nil {
			return errors.Join(err, t.dropCredentials(ctx, t.client, nil))
		}
		return t.writeTried(ctx, i, p)
	}
}

// writeTried writes what is left of a plan, and says why the rest stays with the client.
func (t *takeOver) writeTried(ctx context.Context, i *clientImport, p *serverPlan) error {
	for _, s := range p.servers {
		if why, ok := t.left[s.found.Name]; ok {
			s.why = []string{why + t.adviseAddress(i, p, s.found.Name)}
		}
	}
	i.tried = true
	switch err := i.writePlan(ctx, p, t.tried); {
	case errors.Is(err, onestep.ErrUnfinished):
		return err // the next command may finish the step, which needs them
	case err != nil || len(p.grantedServers()) == 0:
		return errors.Join(err, t.dropCredentials(ctx, t.client, nil))
	default:
		return t.dropCredentials(ctx, t.client, p)
	}
}

// takeOver is an import that tries its servers.
type takeOver struct {
	env     *Environment
	options *Options
	// left maps the servers that stay with the client to the reasons.
	left map[string]string
	// private maps those of them that are at a private address to it.
	private map[string]string
	// asked is true once the user was asked, or cannot be. suggested maps servers to
	// the hosts for their secrets that only a profile names.
	asked     bool
	suggested map[string][]string
	// tried is the draft of the trial of all servers that are still planned.
	tried *Draft
	// client is the name of the client.
	client string
	// looked is true once the credentials of registries and the secrets of servers were
	// stored with draft. noted are those to drop when nothing needs them in the end,
	// unstored the credentials that are left to the user.
	looked   bool
	draft    *Draft
	noted    []string
	unstored []ownCredential
}

// narrowPlan takes the next step from a plan to one whose servers all work: it leaves
// out what cannot be carried over, asks, stores credentials and secrets, finds
// versions, and tries the servers. again is true when that changed the options.
func (t *takeOver) narrowPlan(ctx context.Context, i *clientImport, p *serverPlan) (again bool, err error) {
	for _, s := range p.servers {
		if s.state == stateBlocked && t.suggestHosts(s) {
			again = true
		} else if s.state == stateBlocked {
			t.leaveServer(s, strings.Join(s.why, "; "))
			again = true
		}
	}
	switch {
	case again || t.tried != nil:
		return again, nil
	case !t.asked && len(p.readyServers()) > 0:
		t.asked = true
		return true, t.askServers(p)
	case !t.looked && (len(p.credentials) > 0 || len(p.foundSecrets()) > 0):
		t.looked = true
		return true, t.storeCredentials(ctx, i, p)
	case len(p.readyServers()) == 0:
		return false, nil
	}
	unversioned := p.onlyReady(func(s *plannedServer) bool { return s.lacksVersion })
	if len(unversioned.readyServers()) > 0 {
		_, results, err := i.tryPlan(ctx, unversioned)
		return true, t.applyResults(unversioned, results, err)
	}
	d, results, err := i.tryPlan(ctx, p)
	t.tried = d
	return true, t.applyResults(p, results, err)
}

// onlyReady returns a plan that writes only some of the servers.
func (p *serverPlan) onlyReady(wanted func(s *plannedServer) bool) *serverPlan {
	some := *p
	some.servers = slices.DeleteFunc(slices.Clone(p.servers), func(s *plannedServer) bool { return s.state == stateReady && !wanted(s) })
	return &some
}

// leaveServer leaves a server with the client.
func (t *takeOver) leaveServer(s *plannedServer, why string) {
	t.left[s.found.Name] = why
	t.options.Leave = append(t.options.Leave, s.found.Name)
}

// applyResults takes over the versions that a trial found, and leaves the servers that
// failed it.
func (t *takeOver) applyResults(p *serverPlan, results map[string]TrialResult, err error) error {
	if err != nil {
		return err
	}
	for _, s := range p.readyServers() {
		switch r := results[s.name]; {
		case r.Version != "":
			t.options.Pins = append(t.options.Pins, s.found.Name+"="+r.Version)
		case !r.Works():
			t.leaveServer(s, r.Why+s.adviseSecrets()+t.adviseCredential(s))
			t.private[s.found.Name] = s.privateAddress()
		}
	}
	return nil
}

// adviseSecrets says which values a server that does not work may lack. What this import
// stored is not one of them, and goes again.
func (p *plannedServer) adviseSecrets() (advice string) {
	for _, w := range p.secrets {
		if w.Stored == "" {
			advice += "; " + w.locate("")
		}
	}
	return advice
}

// privateAddress returns the address of a remote server that import never grants, with
// its port; empty for another server.
func (p *plannedServer) privateAddress() string {
	u, err := url.Parse(p.entry.URL)
	if err != nil || u.Host == "" || !isPrivateName(u.Host) {
		return ""
	}
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// adviseAddress says how a server at a private address is reached. A role that this
// import does not write has to be there before anything is granted to it.
func (t *takeOver) adviseAddress(i *clientImport, p *serverPlan, server string) string {
	address := t.private[server]
	if address == "" {
		return ""
	}
	grant := fmt.Sprintf("%s grant %s --private %s", i.env.programName(), p.role, text.ShellWord(address))
	if _, there := i.config.Personalities[p.role]; there || len(p.grantedServers()) > 0 {
		return "; import grants no private address: " + grant + ", then run this again"
	}
	again, options := *i, *i.o
	options.Leave = slices.DeleteFunc(slices.Clone(options.Leave), func(name string) bool { return t.private[name] != "" })
	again.o = &options
	return "; import grants no private address, and nothing else makes the role " + p.role + ": " + again.writeCommand("--write") + ", then " + grant + ", then " + i.env.programName() + " lock"
}

// tryPlan starts the servers of a plan as the configuration with them would. The
// draft then holds what the lock file pins of those that work.
func (i *clientImport) tryPlan(ctx context.Context, p *serverPlan) (*Draft, map[string]TrialResult, error) {
	d, err := i.newDraft(p, nil)
	if err == nil {
		err = i.checkPersonality(p, d.Paths[0])
	}
	if err == nil {
		err = i.makeStateFolders(p)
	}
	if err == nil {
		err = i.verifyDraft(p, d)
	}
	if err != nil {
		return nil, nil, err
	}
	var trials []Trial
	for _, s := range p.readyServers() {
		t := Trial{Server: s.name}
		if s.profile != nil && s.profile.Proof != nil {
			t.Tool, t.Arguments = s.profile.Proof.Tool, s.profile.Proof.Arguments
		}
		trials = append(trials, t)
	}
	results, err := i.env.TryServers(ctx, d, p.role, trials)
	return d, results, err
}
