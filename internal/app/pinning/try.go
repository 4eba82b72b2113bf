package pinning

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/importer"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
)

// StartTried starts servers that are not pinned yet and pins those that answer. It
// returns how each of them did. Where there is no lock file, it pins the other servers
// of the configuration too, as PinServers does: beside a lock file only pinned ones
// start. It pins nothing while a package has no version.
func StartTried(ctx context.Context, rt *app.Runtime, paths []string, trials []importer.Trial) (map[string]importer.TrialResult, error) {
	all := rt.InForce().Servers.Pins.File == nil
	now := lookAt(ctx, rt, func(server string) bool {
		return all || slices.ContainsFunc(trials, func(t importer.Trial) bool { return t.Server == server })
	})
	results := map[string]importer.TrialResult{}
	for _, t := range trials {
		r := importer.TrialResult{Why: "it is not declared"}
		if l := rt.InForce().Servers.Pins.Servers[t.Server]; l != nil && l.Version != "" {
			r = importer.TrialResult{Version: l.Version, Why: l.Why}
		} else if k := slices.IndexFunc(now.states, func(s ServerState) bool { return s.Server == t.Server }); k >= 0 {
			r.Why = now.states[k].Why
		}
		results[t.Server] = r
	}
	for _, r := range results {
		if r.Version != "" {
			return results, nil
		}
	}
	_, err := pinObserved(ctx, rt, paths, now, func(server string) bool {
		r, tried := results[server]
		return r.Works() && (tried || all)
	})
	for _, s := range now.states {
		if s.State == StateChanged {
			results[s.Server] = importer.TrialResult{Why: "it differs from what is pinned of it: " + rt.ShortCommand("diff "+s.Server) + " shows how"}
		}
	}
	return results, err
}

// callsAtOnce bounds how many first calls are made at the same time. Each starts its
// server.
const callsAtOnce = 2

// CallTried makes the first call of each server that works so far, as a role, and
// removes the pins of those that fail it.
func CallTried(ctx context.Context, rt *app.Runtime, role string, trials []importer.Trial, results map[string]importer.TrialResult) error {
	caller, err := rt.NewCaller(ctx, role, "", "")
	if err != nil {
		return err
	}
	var servers []string
	trials = slices.DeleteFunc(slices.Clone(trials), func(t importer.Trial) bool {
		r := results[t.Server]
		return !r.Works() || t.Tool == ""
	})
	for _, t := range trials {
		servers = append(servers, t.Server)
	}
	rt.FindServers(ctx, caller, servers, app.EveryLeft)
	var failed []string
	for i, res := range callTools(ctx, rt, caller, trials) {
		if t := trials[i]; !res.OK {
			results[t.Server] = importer.TrialResult{
				Why: t.Tool + " answers " + text.PrintableLine(res.Error) + "; " + rt.ShortCommand("explain --call "+res.CallID) + " says more",
			}
			failed = append(failed, t.Server)
		}
	}
	return dropPins(ctx, rt, failed)
}

// callTools makes the first calls of servers and returns their results in the order of
// the trials.
func callTools(ctx context.Context, rt *app.Runtime, caller *sallyport.Caller, trials []importer.Trial) []sallyport.Result {
	results := make([]sallyport.Result, len(trials))
	turns := make(chan struct{}, callsAtOnce)
	var calling sync.WaitGroup
	for i, t := range trials {
		turns <- struct{}{}
		calling.Go(func() {
			defer func() { <-turns }()
			results[i] = rt.InForce().Registry.Call(ctx, caller, sallyport.Request{Tool: "mcp__" + t.Server + "__" + t.Tool, Args: t.Arguments})
		})
	}
	calling.Wait()
	return results
}

// dropPins removes servers from the lock file.
func dropPins(ctx context.Context, rt *app.Runtime, servers []string) error {
	p := rt.InForce().Servers.Pins
	if len(servers) == 0 || p.File == nil {
		return nil
	}
	next := *p.File
	next.Servers = maps.Clone(p.File.Servers)
	maps.DeleteFunc(next.Servers, func(name string, _ lock.Server) bool { return slices.Contains(servers, name) })
	return writeLock(ctx, rt, &next, app.ChangeEvent(audit.ActionPin, strings.Join(servers, ", "), "no more in "+p.Path))
}

// CommitTried writes an import that pins servers: all files or none. It is recorded
// before.
func CommitTried(ctx context.Context, rt *app.Runtime, pinned []string, changes []onestep.Change) error {
	event := app.ChangeEvent(audit.ActionPin, strings.Join(pinned, ", "), "into "+rt.InForce().Servers.Pins.Path)
	return rt.RecordFirst(ctx, event, func() error { return rt.Env.ReplaceFiles(rt.InForce().Config.Dir, changes) })
}
