package main

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/registry"
)

func checkCommand(env *environment, f *flags) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration and every tool under every personality",
		Long: `Check the configuration, every tool under every personality that can reach it,
and print what this machine enforces. The exit code is 1 when something does
not fit, 2 when the configuration cannot be loaded.`,
		Example: `  sallyport check
  sallyport check --config prod.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			g, err := openGate(cmd.Context(), env, f)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, g.Close()) }()
			misfits := g.misfits()
			report := checkReport{
				OK: len(misfits) == 0, Files: g.config.Files, Workspace: g.config.Workspace,
				Personalities: g.config.Names(), Misfits: misfits, Enforced: enforcement(g.config.State.Path),
			}
			p := env.printer(f)
			if p.json {
				err = p.value(report)
			} else {
				report.print(p, g)
			}
			if err == nil && !report.OK {
				err = failed()
			}
			return err
		},
	}
}

// checkReport is the answer of check.
type checkReport struct {
	OK            bool            `json:"ok"`
	Files         []string        `json:"files"`
	Workspace     string          `json:"workspace"`
	Personalities []string        `json:"personalities"`
	Misfits       registry.Faults `json:"misfits"`
	Enforced      []enforced      `json:"enforced"`
}

func (r *checkReport) print(p *printer, g *gate) {
	if g.builtin {
		p.line("configuration  built in (no %s)", configName)
	}
	for _, file := range r.Files {
		p.line("configuration  %s", file)
	}
	p.line("workspace      %s", r.Workspace)
	p.line("")
	rows := [][]string{{"PERSONALITY", "TOOLS", "MISFITS"}}
	for _, name := range r.Personalities {
		rows = append(rows, g.roleRow(name, r.Misfits))
	}
	p.table(rows)
	for _, m := range r.Misfits {
		p.line("%s %s", p.bad("misfit"), m)
		if m.Source != "" {
			p.line("       at %s", m.Source)
		}
		if m.Fix != "" {
			p.line("       fix: %s", m.Fix)
		}
	}
	p.line("")
	printEnforcement(p, r.Enforced)
}

// misfits collects what declared more than its personality gives.
func (g *gate) misfits() registry.Faults {
	all := registry.Faults{}
	for _, name := range g.config.Names() {
		all = append(all, g.registry.Misfits(name)...)
	}
	return all
}

// enforced is one line of what this machine holds tools to.
type enforced struct {
	What string `json:"what"`
	How  string `json:"how"`
	On   bool   `json:"on"`
}

// enforcement says what is enforced here and what is not. The first lines
// hold on every system; the kernel's part is named where it is missing.
func enforcement(state string) []enforced {
	list := []enforced{
		{"files", "opened beneath the granted folders, links and races included; deny floor on the opened file", true},
		{"network", "hosts of the grant; address floor on the dialled address; every redirect", true},
		{"secrets", "granted references; values removed from everything that leaves", true},
		{"record", "intent before, outcome after, denials included; keyed chain in " + orMemory(state), true},
		{"child processes", "none are started: a tool that declares process is refused", false},
		{"tools in this process", "Go code behind accessors, not confined by the kernel", false},
	}
	if runtime.GOOS == "windows" {
		list = append(list, enforced{"file modes", "state and key rely on the folder's access list, not on modes", false})
	}
	return list
}

func orMemory(path string) string {
	if path == "" {
		return "memory"
	}
	return path
}

func printEnforcement(p *printer, list []enforced) {
	rows := [][]string{}
	for _, e := range list {
		word := p.good("enforced")
		if !e.On {
			word = p.bad("not confined")
		}
		rows = append(rows, []string{word, e.What, e.How})
	}
	p.table(rows)
}
