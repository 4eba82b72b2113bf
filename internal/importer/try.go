package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	left, tried := map[string]string{}, false
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
		if !changed && !tried && len(p.readyServers()) > 0 {
			results, err := i.tryPlan(ctx, p)
			if err != nil {
				return err
			}
			tried = true
			for _, s := range p.readyServers() {
				switch r := results[s.name]; {
				case r.Version != "":
					options.Pins = append(options.Pins, s.found.Name+"="+r.Version)
					changed, tried = true, false
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
			return i.writePlan(ctx, p)
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

// tryPlan starts the servers of a plan as the configuration with them would.
func (i *clientImport) tryPlan(ctx context.Context, p *serverPlan) (results map[string]TrialResult, err error) {
	paths := i.env.ConfigFiles
	if len(paths) == 0 {
		return nil, errNoConfig(i.env)
	}
	if err := i.checkPersonality(p, paths[0]); err != nil {
		return nil, err
	}
	if err := i.makeStateFolders(p); err != nil {
		return nil, err
	}
	path, _, content, err := i.extendFile(p, paths[0])
	if err != nil {
		return nil, err
	}
	draft, err := writeDraft(path, content)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.Remove(draft)) }()
	drafted := append([]string{draft}, paths[1:]...)
	c, err := i.env.ReadConfig(drafted)
	if err == nil {
		err = i.compareConfig(p, c)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be extended: %s", path, strings.ReplaceAll(err.Error(), draft, path))
	}
	var trials []Trial
	for _, s := range p.readyServers() {
		t := Trial{Server: s.name}
		if s.profile != nil && s.profile.Proof != nil {
			t.Tool, t.Arguments = s.profile.Proof.Tool, s.profile.Proof.Arguments
		}
		trials = append(trials, t)
	}
	if results, err = i.env.TryServers(ctx, drafted, p.role, trials); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), draft, path))
	}
	return results, nil
}
