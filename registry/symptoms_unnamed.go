package registry

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/symptom"
	"github.com/sallyport/sallyport/internal/text"
)

// hasAccessRefusal reports whether the record says of anything that the call was
// refused it.
func (c *call) hasAccessRefusal() bool {
	return slices.ContainsFunc(c.trail.decisions(), func(d sallyport.Decision) bool {
		return d.Step == sallyport.StepAccess && !d.Allowed
	})
}

// noteUnnamed notes a reason of a child that names nothing, where nothing is known that
// the call was refused. It says what the gate would know of, and the command that shows
// what the program needs.
func (c *call) noteUnnamed(s *symptom.Symptom) {
	d := sallyport.Decision{Step: sallyport.StepAccess, Capability: group.Files}
	said := "a child said " + `"` + s.Said + `"`
	switch {
	case s.Kind != symptom.Host:
		d.Why = said + " and named no path; the kernel does not tell which paths it kept from a child"
	case len(c.grant.Network.Allow)+len(c.grant.Network.Private) == 0:
		return // that is noted as no network
	default:
		d.Capability = group.Network
		d.Why = said + " and named no host; it asked for no host that it may not reach, and no other way leads out"
	}
	d.Fix = c.observeCommand() + ", which shows what it needs"
	c.trail.addDecision(d)
}

// maxObserved bounds the command of a program that a fix repeats, in bytes.
const maxObserved = 1 << 10

// observeCommand returns the command that shows what the program of the call touches.
// It repeats the command of an MCP server, which the operator wrote, and no other: those
// are made of what callers send.
func (c *call) observeCommand() string {
	program := ""
	if c.entry.tool.Server() != "" {
		program = text.ShellLine(c.binder.Command())
	}
	if program == "" || len(program) > maxObserved || program != text.PrintableLine(program) {
		program = "COMMAND"
	}
	observe := "observe"
	if w := c.workspace(); w != "" {
		observe += " --workspace " + text.ShellWord(w)
	}
	return c.role.commandLine(observe) + " -- " + program
}
