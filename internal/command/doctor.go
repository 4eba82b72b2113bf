package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/machine"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/sandbox"
)

func doctorCommand(env *environment, f *flags) *cobra.Command {
	var profile string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine lacks to confine programs, and how to get it",
		Long: `Start a child that attacks its own confinement, as every start of a program or an
MCP server needs it. Where it cannot be confined, say what this machine lacks and
print the commands and flags that give it. Nothing is changed. The exit code is 1
when something is missing.

--print writes a profile to standard output: apparmor for Ubuntu, seccomp for
containers.`,
		Example: `  sallyport doctor
  sallyport doctor --print seccomp > sallyport.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if profile != "" {
				data, err := machine.Profile(profile)
				if err == nil {
					_, err = env.stdout.Write(data)
				}
				return err
			}
			m, err := app.ExamineMachine(&env.Environment, f.config)
			if err != nil {
				return err
			}
			p := env.newPrinter(f)
			if p.JSON {
				err = p.PrintJSON(struct {
					OK      bool             `json:"ok"`
					Report  sandbox.Report   `json:"confinement"`
					Lacking []machine.Advice `json:"lacking,omitempty"`
				}{len(m.Lacking) == 0, m.Report, m.Lacking})
			} else {
				list := report.DescribeConfinement(&m.Report, nil)
				report.PrintEnforcement(p, list[:min(len(list), 1+len(m.Report.Layers))])
				fmt.Fprint(p.W, m.FormatLacking(""))
			}
			if err != nil {
				return err
			}
			return failUnless(len(m.Lacking) == 0)
		},
	}
	cmd.Flags().StringVar(&profile, "print", "", "print the profile `apparmor|seccomp` and do nothing else")
	return cmd
}

// warnOfMachine says on standard error what this machine lacks to confine
// programs, before a command makes a client depend on it.
func (e *environment) warnOfMachine(f *flags) {
	if !app.MachineMayLack() {
		return
	}
	m, err := app.ExamineMachine(&e.Environment, f.config)
	if err != nil || len(m.Lacking) == 0 {
		return
	}
	fmt.Fprintf(e.Stderr, "sallyport: programs and MCP servers cannot start on this machine; %s doctor says this again\n%s", e.ProgramName(), m.FormatLacking("  "))
}
