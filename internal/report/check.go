package report

import (
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/registry"
)

// Check is the answer of check.
type Check struct {
	// OK is true when everything fits and answers.
	OK bool `json:"ok"`
	// Files are the files of the configuration.
	Files []string `json:"files"`
	// Workspace is the folder that it is about.
	Workspace string `json:"workspace"`
	// Personalities are the names of the roles.
	Personalities []string `json:"personalities"`
	// Servers are the declared MCP servers.
	Servers []ServerReport `json:"mcp_servers,omitempty"`
	// Misfits lists what tools declare beyond their roles.
	Misfits registry.Faults `json:"misfits"`
	// Lacking lists the secrets that are not set, and the databases and relays
	// that do not answer.
	Lacking []app.Lack `json:"lacking,omitempty"`
	// Unheld lists the permissions of listed tools that no principal holds. They are
	// warnings: a principal may be added at any time.
	Unheld []app.Lack `json:"unheld,omitempty"`
	// Enforced lists the limits that this machine enforces.
	Enforced []Enforcement `json:"enforced"`
	// Packages lists the registries from which servers are installed.
	Packages []app.PackageSource `json:"packages,omitempty"`
	// Version2 lists what version 2 of the format would change.
	Version2 []app.VersionChange `json:"version_2,omitempty"`
}

// PrintCheck prints what check found.
func PrintCheck(p *Printer, rt *app.Runtime, r *Check) error {
	if p.JSON {
		return p.PrintJSON(r)
	}
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
	printRoles(p, rt, r)
	PrintServers(p, r.Servers)
	for _, m := range r.Misfits {
		p.PrintLine("%s %s", p.ColourBad("misfit"), m)
		if m.Source != "" {
			p.PrintLine("       at %s", m.Source)
		}
		p.PrintFix("       ", m.Fix)
	}
	printLacks(p, p.ColourBad("lacking"), r.Lacking)
	printLacks(p, p.ColourHeld("warning"), r.Unheld)
	PrintVersionChanges(p, r.Version2)
	p.PrintLine("")
	PrintEnforcement(p, r.Enforced)
	return nil
}

func printLacks(p *Printer, word string, list []app.Lack) {
	for _, l := range list {
		p.PrintLine("%s %s %s: %s", word, l.What, l.Name, text.OneLine(l.Why))
		if l.Source != "" {
			p.PrintLine("       at %s", l.Source)
		}
		p.PrintFix("       ", l.Fix)
	}
}

// printRoles prints the roles, each with its tools and misfits.
func printRoles(p *Printer, rt *app.Runtime, r *Check) {
	misfits := map[string]int{}
	for _, m := range r.Misfits {
		misfits[m.Personality]++
	}
	rows := [][]string{{"PERSONALITY", "TOOLS", "MISFITS"}}
	for _, name := range r.Personalities {
		tools := rt.InForce().Registry.List(&sallyport.Caller{Personality: name})
		rows = append(rows, []string{name, fmt.Sprint(len(tools)), fmt.Sprint(misfits[name])})
	}
	p.PrintTable(rows)
}
