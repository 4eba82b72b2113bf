package command

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/report"
)

// completion completes a word of the command line.
type completion func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// completeFirst completes the first argument of a command. Nothing is said when
// the names cannot be found out: the command itself says why.
func completeFirst(env *environment, f *flags, find finder) completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		quiet := *env
		quiet.Stderr = io.Discard
		return find(cmd.Context(), &quiet, f), cobra.ShellCompDirectiveNoFileComp
	}
}

// findToolNames returns the tools that the default role sees without a server
// being started.
func findToolNames(ctx context.Context, env *environment, f *flags) (names []string) {
	var r callerFlags
	// An error leaves the list empty.
	_ = r.withGate(ctx, env, f, app.OpenForView, func(rt *app.Runtime, caller *sallyport.Caller) error {
		for _, t := range rt.InForce().Registry.List(caller) {
			names = append(names, t.Name)
		}
		return nil
	})
	return names
}

// findHeldCalls returns the ids of the held calls.
func findHeldCalls(ctx context.Context, env *environment, f *flags) (ids []string) {
	_ = withRuntime(ctx, env, f, app.OpenForRecord, func(rt *app.Runtime) error {
		list, err := rt.Approvals.List(ctx, false)
		for i := range list {
			ids = append(ids, list[i].ID)
		}
		return err
	})
	return ids
}

// findInConfig returns what a configuration names.
func findInConfig(list func(c *config.Config) []string) finder {
	return func(_ context.Context, env *environment, f *flags) []string {
		c, _, err := app.LoadConfig(&env.Environment, f.config)
		if err != nil {
			return nil
		}
		return list(c)
	}
}

// listKnownSets returns the names of the sets of values.
func listKnownSets(c *config.Config) []string { return slices.Sorted(maps.Keys(c.Known)) }

// listServers returns the names of the declared MCP servers.
func listServers(c *config.Config) []string { return listIDs(c.Servers) }

// listGrantTargets returns what a grant may be about: servers, roles and actions.
func listGrantTargets(c *config.Config) []string {
	return slices.Concat(listIDs(c.Servers), c.Names(), listIDs(c.Actions))
}

// listIDs returns the ids of servers or actions.
func listIDs(parts []config.Part) (ids []string) {
	for i := range parts {
		ids = append(ids, parts[i].ID)
	}
	return ids
}

// findCallIDs returns the ids of the newest calls, each with how it ended. Of the
// rest of a record an agent chose the words.
func findCallIDs(ctx context.Context, env *environment, f *flags) (ids []string) {
	const records, shown = 200, 30
	_ = withRuntime(ctx, env, f, app.OpenForRecord, func(rt *app.Runtime) error {
		for e, err := range audit.Events(ctx, rt.State, audit.Query{Last: records}) {
			if err != nil {
				return err
			}
			if e.Kind == audit.KindOutcome {
				ids = append(ids, e.CallID+"\t"+report.OutcomeWord(&report.Printer{}, &e))
			}
		}
		return nil
	})
	slices.Reverse(ids)
	return ids[:min(len(ids), shown)]
}

// findPrincipals returns the names of the principals.
func findPrincipals(ctx context.Context, env *environment, f *flags) (names []string) {
	_ = withCallers(ctx, env, f, false, func(rt *app.Runtime) error {
		entries, err := rt.Callers.Entries(ctx)
		for i := range entries {
			names = append(names, entries[i].Name)
		}
		return err
	})
	return names
}

// finder finds the names that complete a word.
type finder func(context.Context, *environment, *flags) []string

// completeNames adds completion to the commands and flags of a tree that take the
// name of something.
func completeNames(root *cobra.Command, env *environment, f *flags) {
	findKnownSets, findServers, findGrantTargets := findInConfig(listKnownSets), findInConfig(listServers), findInConfig(listGrantTargets)
	for path, find := range map[string]finder{
		"call": findToolNames, "tools": findToolNames, "explain": findToolNames, "audit show": findCallIDs,
		"approvals ls": findHeldCalls, "approvals approve": findHeldCalls, "approvals deny": findHeldCalls,
		"known ls": findKnownSets, "known rm": findKnownSets, "known export": findKnownSets,
		"lock accept": findServers, "diff": findServers, "login": findServers, "logout": findServers,
		"grant": findGrantTargets, "revoke": findGrantTargets,
		"principals rotate": findPrincipals, "principals revoke": findPrincipals, "principals stop": findPrincipals,
		"principals start": findPrincipals, "principals forget": findPrincipals,
	} {
		if cmd := findCommand(root, path); cmd != nil {
			cmd.ValidArgsFunction = completeFirst(env, f, find)
		}
	}
	byFlag := map[string]finder{
		"personality": findInConfig((*config.Config).Names), "role": findInConfig((*config.Config).Names), "call": findCallIDs, "principal": findPrincipals,
		"tool": findToolNames, "server": findServers,
	}
	eachCommand(root, func(cmd *cobra.Command) {
		for name, find := range byFlag {
			if cmd.Flags().Lookup(name) == nil || cmd.Name() == "openapi" {
				continue // the server of a document is an address
			}
			complete := completeFirst(env, f, find)
			// The flag exists and has no completion yet, so that this cannot fail.
			_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
				return complete(cmd, nil, word)
			})
		}
	})
}

// findCommand returns the command of a path below root, nil when there is none.
func findCommand(root *cobra.Command, path string) *cobra.Command {
	var found *cobra.Command
	eachCommand(root, func(cmd *cobra.Command) {
		if cmd.CommandPath() == root.Name()+" "+path {
			found = cmd
		}
	})
	return found
}

// eachCommand calls do for every command of a tree.
func eachCommand(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, do)
	}
}
