package importer

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
// server that does not work stays with the client, and the report says why.
func TakeOver(ctx context.Context, e *Environment, o *Options) error {
	options := *o
	options.Leave, options.Pins = slices.Clone(o.Leave), slices.Clone(o.Pins)
	left := map[string]string{}
	var tried *Draft
	for {
		i, p, err := planImport(ctx, e, &options)
		if err != nil {
			return err
		}
		changed := false
		leave := func(s *plannedServer, why string) {
			left[s.found.Name], changed = why, true
			options.Leave = append(options.Leave, s.found.Name)
		}
		for _, s := range p.servers {
			if s.state == stateBlocked {
				leave(s, strings.Join(s.why, "; "))
			}
		}
		if !changed && tried == nil && len(p.readyServers()) > 0 {
			d, results, err := i.tryPlan(ctx, p)
			if err != nil {
				return err
			}
			tried = d
			for _, s := range p.readyServers() {
				switch r := results[s.name]; {
				case r.Version != "":
					options.Pins = append(options.Pins, s.found.Name+"="+r.Version)
					changed, tried = true, nil
				case !r.Works():
					leave(s, r.Why+s.adviseSecrets())
				}
			}
		}
		if !changed {
			for _, s := range p.servers {
				if why, ok := left[s.found.Name]; ok {
					s.why = []string{why}
				}
			}
			i.tried = true
			return i.writePlan(ctx, p, tried)
		}
	}
}

// adviseSecrets says which values a server that does not work may lack.
func (p *plannedServer) adviseSecrets() (advice string) {
	for _, w := range p.secrets {
		advice += fmt.Sprintf("; the value of %s goes into %s", w.Name, w.Put)
	}
	return advice
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
