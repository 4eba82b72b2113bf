package app

import (
	"errors"
	"os"
	"runtime"
	"strings"

	"github.com/sallyport/sallyport/internal/machine"
	"github.com/sallyport/sallyport/sandbox"
)

// MachineMayLack reports whether the files of this machine show a cause for which
// children may not be confined, so that [ExamineMachine] is worth its time.
func MachineMayLack() bool { return machine.MayLack(machineFacts()) }

// Machine is what this machine gives for the confinement of children.
type Machine struct {
	// Report is what the sandbox found by trying.
	Report sandbox.Report
	// Lacking says what is missing and how to get it; empty when children can be
	// confined at the level of the configuration.
	Lacking []machine.Advice
}

// ExamineMachine tries to confine a child at the level of the configuration, or
// at the default level where there is no configuration that can be read, and says
// what is missing. It changes nothing.
func ExamineMachine(env *Environment, paths []string) (m *Machine, err error) {
	o := &sandbox.Options{Warm: -1}
	if c, _, err := LoadConfig(env, paths); err == nil {
		o.Level = c.Sandbox.Level
	}
	runner, err := sandbox.New(o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	m = &Machine{Report: runner.Report()}
	facts := machineFacts()
	if m.Report.Level == "" {
		facts.Missing = m.Report.Missing
	}
	m.Lacking = machine.Diagnose(facts)
	return m, nil
}

// machineFacts returns the facts of this machine, without a trial.
func machineFacts() *machine.Facts {
	facts := &machine.Facts{OS: runtime.GOOS, Root: os.Geteuid() == 0, Program: "sallyport"}
	if program, err := os.Executable(); err == nil {
		facts.Program = program
	}
	if runtime.GOOS == "linux" {
		facts.Files = os.DirFS("/")
	}
	return facts
}

// FormatLacking returns lines that say what is missing and how to get it, each
// with a prefix.
func (m *Machine) FormatLacking(prefix string) string {
	var b strings.Builder
	for _, a := range m.Lacking {
		b.WriteString(prefix + "lacking: " + a.Lack + "\n")
		for _, step := range a.Steps {
			b.WriteString(prefix + "    " + step + "\n")
		}
	}
	return b.String()
}
