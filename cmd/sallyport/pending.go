package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/pending"
)

// pending is where changes wait that a person has to see first.
func (g *gate) pending(env *environment) pending.Store {
	return pending.Store{Dir: filepath.Join(g.ownFolder(env.dir), "pending")}
}

func pendingCommand(env *environment, f *flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "Look at what children changed of configuration that runs commands",
		Long: `Look at what children in overlay mode changed of a project's configuration that
runs commands: of editors, agents, package managers and build tools. It is not
carried over with the rest of what they wrote, but waits here for a person.`,
		Example: `  sallyport pending ls
  sallyport pending show 1f2e3d4c`,
		RunE: subcommand,
	}
	cmd.AddCommand(pendingList(env, f), pendingShow(env, f))
	return cmd
}

func pendingList(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the changes that wait", Args: cobra.NoArgs,
		Example: `  sallyport pending ls`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCallers(cmd.Context(), env, f, false, func(g *gate) error {
				list, err := g.pending(env).List()
				if err != nil {
					return misused(err)
				}
				p := env.printer(f)
				if p.json {
					return p.value(list)
				}
				if len(list) == 0 {
					p.line("no change waits")
				}
				for i := range list {
					for _, file := range list[i].Files {
						p.line("%s  %s  %s  %q", list[i].ID, list[i].Time.Format("2006-01-02 15:04:05"), list[i].Binary, file.Path)
					}
				}
				return nil
			})
		},
	}
}

func pendingShow(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show the difference", Args: cobra.ExactArgs(1),
		Example: `  sallyport pending show 1f2e3d4c`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withCallers(cmd.Context(), env, f, false, func(g *gate) error {
				b, err := g.pending(env).Get(args[0])
				if err != nil {
					return misused(err)
				}
				text, err := b.Difference()
				if err != nil {
					return misused(err)
				}
				p := env.printer(f)
				if p.json {
					return p.value(map[string]any{"id": b.ID, "difference": text, "hash": b.Digest(), "files": b.Files})
				}
				p.line("%s", text)
				return nil
			})
		},
	}
}
