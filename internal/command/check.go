package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/registry"
)

func checkCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and every tool under every personality",
		Long: `Check the configuration, and every tool under every personality that can reach
it. Print what this machine enforces. The command starts the MCP servers to ask
what they offer. The exit code is 1 when something does not fit or a server does
not answer, and 2 when the configuration cannot be loaded.`,
		Example: `  sallyport check
  sallyport check --config prod.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			rt, err := checkGate(cmd.Context(), env, f)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, rt.Close()) }()
			rt.Servers.EveryRole = true
			rt.DiscoverServers(cmd.Context(), "", app.EveryServer)
			rt.PrintWarnings(env.Stderr)
			env.warnOfCopies(rt.Config.Files...)
			misfits := app.CollectMisfits(rt)
			report := checkReport{
				OK: len(misfits) == 0 && len(rt.Servers.Failed()) == 0, Servers: reportServers(&rt.Servers), Files: rt.Config.Files, Workspace: rt.Config.Workspace,
				Personalities: rt.Config.Names(), Misfits: misfits, Enforced: describeEnforcement(rt),
			}
			p := env.newPrinter(f)
			if p.JSON {
				err = p.PrintJSON(report)
			} else {
				report.printReport(p, rt)
			}
			if err == nil && !report.OK {
				err = silentFailure()
			}
			return err
		},
	}
}

// checkReport is the JSON answer of check.
type checkReport struct {
	OK            bool            `json:"ok"`
	Files         []string        `json:"files"`
	Workspace     string          `json:"workspace"`
	Personalities []string        `json:"personalities"`
	Servers       []serverReport  `json:"mcp_servers,omitempty"`
	Misfits       registry.Faults `json:"misfits"`
	Enforced      []enforcement   `json:"enforced"`
}

func (r *checkReport) printReport(p *report.Printer, rt *app.Runtime) {
	if rt.Builtin {
		p.PrintLine("configuration  built in (no %s)", app.ConfigName)
	}
	for _, file := range r.Files {
		p.PrintLine("configuration  %s", file)
	}
	p.PrintLine("workspace      %s", r.Workspace)
	p.PrintLine("")
	rows := [][]string{{"PERSONALITY", "TOOLS", "MISFITS"}}
	for _, name := range r.Personalities {
		rows = append(rows, roleRow(rt, name, r.Misfits))
	}
	p.PrintTable(rows)
	printServers(p, r.Servers)
	for _, m := range r.Misfits {
		p.PrintLine("%s %s", p.ColourBad("misfit"), m)
		if m.Source != "" {
			p.PrintLine("       at %s", m.Source)
		}
		if m.Fix != "" {
			p.PrintLine("       fix: %s", m.Fix)
		}
	}
	p.PrintLine("")
	printEnforcement(p, r.Enforced)
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
