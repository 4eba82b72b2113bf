package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

func checkCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and every tool under every personality",
		Long: `Check the configuration, and every tool under every personality that can reach
it. Print what this machine enforces. The command looks for every secret that the
configuration names, connects to the databases and mail relays, and starts the MCP
servers to ask what they offer. The exit code is 1 when something does not fit, a
secret is not set or something does not answer, and 2 when the configuration
cannot be loaded.`,
		Example: `  sallyport check
  sallyport check --config prod.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withRuntime(cmd.Context(), env, f, app.OpenForCheck, func(rt *app.Runtime) error {
				rt.Servers.EveryRole = true
				rt.DiscoverServers(cmd.Context(), "", app.EveryServer)
				rt.PrintWarnings(env.Stderr)
				env.warnOfCopies(rt.Config.Files...)
				misfits, lacking := app.CollectMisfits(rt), rt.FindLacks(cmd.Context())
				changes, err := rt.VersionChanges()
				if err != nil {
					return err
				}
				report := checkReport{
					OK: len(misfits) == 0 && len(lacking) == 0 && len(rt.Servers.Failed()) == 0, Servers: report.DescribeServers(&rt.Servers), Files: rt.Config.Files, Workspace: rt.Config.Workspace,
					Personalities: rt.Config.Names(), Misfits: misfits, Lacking: lacking, Enforced: report.DescribeEnforcement(rt), Packages: rt.PackageSources(), Version2: changes,
				}
				if p := env.newPrinter(f); !p.JSON {
					report.printReport(p, rt)
				} else if err := p.PrintJSON(report); err != nil {
					return err
				}
				return failUnless(report.OK)
			})
		},
	}
}

// checkReport is the JSON answer of check.
type checkReport struct {
	OK            bool                  `json:"ok"`
	Files         []string              `json:"files"`
	Workspace     string                `json:"workspace"`
	Personalities []string              `json:"personalities"`
	Servers       []report.ServerReport `json:"mcp_servers,omitempty"`
	Misfits       registry.Faults       `json:"misfits"`
	// Lacking lists the secrets that are not set, and the databases and relays
	// that do not answer.
	Lacking  []app.Lack           `json:"lacking,omitempty"`
	Enforced []report.Enforcement `json:"enforced"`
	// Packages lists the registries from which servers are installed.
	Packages []app.PackageSource `json:"packages,omitempty"`
	// Version2 lists what version 2 of the format would change.
	Version2 []app.VersionChange `json:"version_2,omitempty"`
}

func (r *checkReport) printReport(p *report.Printer, rt *app.Runtime) {
	if rt.Builtin {
		p.PrintLine("configuration  built in (no %s)", app.ConfigName)
	}
	for _, file := range r.Files {
		p.PrintLine("configuration  %s", file)
	}
	p.PrintLine("workspace      %s", r.Workspace)
	for _, s := range r.Packages {
		what := "at public addresses, and private ones where packages.allow_private says so"
		if s.AnyAddress {
			what = "at any address but metadata and link-local ones: it is public, or this machine uses it"
		}
		p.PrintLine("packages       %s from %s, %s", s.Registry, s.Host, what)
	}
	p.Trim = rt.TrimCommands
	p.PrintLine("")
	rows := [][]string{{"PERSONALITY", "TOOLS", "MISFITS"}}
	for _, name := range r.Personalities {
		rows = append(rows, roleRow(rt, name, r.Misfits))
	}
	p.PrintTable(rows)
	report.PrintServers(p, r.Servers)
	for _, m := range r.Misfits {
		p.PrintLine("%s %s", p.ColourBad("misfit"), m)
		if m.Source != "" {
			p.PrintLine("       at %s", m.Source)
		}
		p.PrintFix("       ", m.Fix)
	}
	for _, l := range r.Lacking {
		p.PrintLine("%s %s %s: %s", p.ColourBad("lacking"), l.What, l.Name, text.OneLine(l.Why))
		if l.Source != "" {
			p.PrintLine("       at %s", l.Source)
		}
		p.PrintFix("       ", l.Fix)
	}
	report.PrintVersionChanges(p, r.Version2)
	p.PrintLine("")
	report.PrintEnforcement(p, r.Enforced)
}

// roleRow returns the row of a personality in the table of check.
func roleRow(rt *app.Runtime, name string, misfits registry.Faults) []string {
	count := 0
	for _, m := range misfits {
		if m.Personality == name {
			count++
		}
	}
	tools := rt.Registry.List(&sallyport.Caller{Personality: name})
	return []string{name, fmt.Sprint(len(tools)), fmt.Sprint(count)}
}
