package command

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/app/safekeeping"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/importer"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/registry"
)

func importCommand(env *environment, f *flags) *cobra.Command {
	var o importer.Options
	var write, rollback, yes bool
	cmd := &cobra.Command{
		Use:   "import [CLIENT|FILE]",
		Short: "Take over the MCP servers of a client",
		Long: `Take over the MCP servers that a client starts by itself, so that their calls
pass the gate. Without an argument the command lists the servers that it finds.
With a client or a file it shows at a terminal what each server would get, asks once
for each, and takes over those that you agree to. Without a terminal it prints the
configuration that it would write, with remarks, and changes nothing.

--yes takes over every server without a question. Either way the command finds the
versions of packages, installs and pins them, starts every server through the gate
and makes a first call of those that it knows. The servers that work take the place
of the client's. What does not work stays with the client, and the command says why.
A private address, a folder to write outside the workspace, and a host for a secret
that the client's file does not name are never granted so.

--write adds the servers to the configuration, under a personality with the name
of the client, and changes the client's file: it now starts this program in their
place. Copies of both files are kept in ~/.local/state/sallyport/copies;
--rollback brings the client's servers back. A value that looks like a secret is
never copied. It becomes a reference, and the command prints where to put the
value.

Known clients: ` + strings.Join(clients.Names(), ", ") + `.
A FILE has the format of the client whose file has the same name.`,
		Example: `  sallyport import
  sallyport import claude-desktop
  sallyport import claude-desktop --yes
  sallyport import cursor --host github=api.github.com --write
  sallyport import --rollback cursor
  sallyport import openapi petstore.yaml --out petstore.actions.yaml`,
		Args:      cobra.ArbitraryArgs,
		ValidArgs: clients.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
			case 1:
				o.Name = args[0]
			default:
				return groupCommand(cmd, args)
			}
			return env.importServers(cmd.Context(), f, &o, importActions{write, rollback, yes})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&write, "write", false, "write the configuration and the client's file")
	flags.BoolVar(&yes, "yes", false, "take over every server that works, and ask nothing")
	flags.BoolVar(&o.Observe, "observe", false, "start each server once, unconfined, and propose the access that it used")
	flags.BoolVar(&rollback, "rollback", false, "bring the client's servers back from the last copy of its file")
	flags.BoolVar(&o.Force, "force", false, "with --rollback: restore the whole copy and lose later changes")
	flags.StringVar(&o.Personality, "personality", "", "the `ROLE` that may use the servers (default: the name of the client)")
	flags.StringArrayVar(&o.Leave, "leave", nil, "do not take over `SERVER`: the client starts it without the gate; may be repeated")
	flags.StringArrayVar(&o.Hosts, "host", nil, "`SERVER=HOST`: let a server reach a host, and send its secrets there; may be repeated")
	flags.StringArrayVar(&o.Pins, "pin", nil, "`SERVER=VERSION`: use this exact version of a server's package; may be repeated")
	flags.StringArrayVar(&o.Plain, "plain", nil, "`SERVER=NAME`: copy the value of a variable or header that is not a secret; may be repeated")
	cmd.AddCommand(importOpenAPI(env, f))
	return cmd
}

// importActions are the flags that say what import does.
type importActions struct{ write, rollback, yes bool }

// importServers runs the action that the flags select.
func (e *environment) importServers(ctx context.Context, f *flags, o *importer.Options, do importActions) error {
	e.showInstalls(f)
	env := e.importEnvironment(f)
	switch {
	case do.rollback && (do.write || do.yes || o.Observe), do.yes && (do.write || o.Observe):
		return errors.New("import: give --rollback and --yes without each other, --write and --observe")
	case do.rollback:
		return importer.RollBack(ctx, env, o)
	case o.Force:
		return errors.New("import: --force needs --rollback")
	case o.Name == "" && (do.write || do.yes || o.SelectsServers()):
		return errors.New("import: name a client, or leave out the flags to list what import finds")
	case o.Name == "":
		return importer.ListClients(env)
	case do.write:
		e.warnOfMachine(f)
		return importer.WriteServers(ctx, env, o)
	case do.yes:
		e.warnOfMachine(f)
		return importer.TakeOver(ctx, env, o)
	case e.canAsk(f) && !o.Observe:
		e.warnOfMachine(f)
		env.Ask = e.askLine
		err := importer.TakeOver(ctx, env, o)
		if errors.Is(err, importer.ErrQuit) {
			return &exitError{code: exitFailed, err: err}
		}
		return err
	default:
		return importer.PreviewServers(ctx, env, o)
	}
}

// importEnvironment returns what the importer needs of this program.
func (e *environment) importEnvironment(f *flags) *importer.Environment {
	return &importer.Environment{
		UserProgram: e.ProgramName(),
		Home:        e.Home, Dir: e.Dir, Lookup: e.Lookup, Folders: e.clientFolders(),
		Out: e.stdout, Err: e.Stderr, JSON: f.json, Version: app.Version(),
		ConfigFlags: f.config, ConfigFiles: configPaths(e, f),
		Registries: e.OwnRegistries,
		LoadConfig: func() (*config.Config, error) {
			c, _, err := app.LoadConfig(&e.Environment, f.config)
			return c, err
		},
		ReadConfig: func(d *importer.Draft) (*config.Config, error) {
			return config.Load(d.Paths, e.withDraft(d).ConfigOptions())
		},
		FindMisfits: func(ctx context.Context, d *importer.Draft, role string) (faults registry.Faults, err error) {
			err = withRuntime(ctx, e.withDraft(d), &flags{config: d.Paths}, app.OpenForView, func(rt *app.Runtime) error {
				faults = rt.InForce().MisfitsOf(role)
				return nil
			})
			return faults, err
		},
		TryServers: func(ctx context.Context, d *importer.Draft, role string, trials []importer.Trial) (results map[string]importer.TrialResult, err error) {
			err = withLook(ctx, e.withDraft(d), &flags{config: d.Paths}, app.AskNew, func(rt *app.Runtime) error {
				results, err = pinning.StartTried(ctx, rt, d.Paths, trials)
				return err
			})
			missing := slices.ContainsFunc(slices.Collect(maps.Values(results)), func(r importer.TrialResult) bool { return r.Version != "" })
			if err != nil || missing {
				return results, err // tried again with the versions
			}
			return results, withRuntime(ctx, e.withDraft(d), &flags{config: d.Paths}, app.OpenForCalls, func(rt *app.Runtime) error {
				return pinning.CallTried(ctx, rt, role, trials, results)
			})
		},
		Commit: func(ctx context.Context, d *importer.Draft, pinned []string, changes []onestep.Change) error {
			if len(pinned) == 0 {
				c, err := config.Load(d.Paths, e.withDraft(d).ConfigOptions())
				if err == nil {
					err = e.ReplaceFiles(c.Dir, changes)
				}
				return err
			}
			return withLook(ctx, e.withDraft(d), &flags{config: d.Paths}, app.HoldPins, func(rt *app.Runtime) error {
				return pinning.CommitTried(ctx, rt, pinned, changes)
			})
		},
		StoreCredential: func(ctx context.Context, d *importer.Draft, client, registry, address string) (importer.StoredCredential, error) {
			return safekeeping.StoreCredential(ctx, &e.withDraft(d).Environment, d.Paths, client, registry, address)
		},
		StoreSecret: func(ctx context.Context, d *importer.Draft, client, ref string, value sallyport.Secret) (importer.StoredCredential, error) {
			return safekeeping.StoreFound(ctx, &e.withDraft(d).Environment, d.Paths, client, ref, value)
		},
		RemoveCredentials: func(ctx context.Context, d *importer.Draft, client string, refs []string) ([]string, error) {
			return safekeeping.RemoveCredentials(ctx, &e.withDraft(d).Environment, d.Paths, client, refs)
		},
		Replace:    func(changes []onestep.Change) error { return e.replaceClientFiles(f, changes) },
		FinishStep: func() { e.FinishStep(configPaths(e, f)) },
		Program:    app.ProgramPath,
		LockName:   app.LockName,
	}
}

// withDraft returns the environment of a configuration that is not written yet.
func (e *environment) withDraft(d *importer.Draft) *environment {
	drafted := *e
	drafted.Texts = d.Texts
	return &drafted
}
