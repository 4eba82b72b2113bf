package app

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// argumentFaults returns a fault for each ceiling of a role over arguments that names an
// unknown tool, server, argument, word or set, or that nothing satisfies. Tools lists the
// words for tools. What the tools of a server declare is judged as far as it is mounted.
func (t *Deployment) argumentFaults(role string, p *sallyport.Personality, tools []string) yamldoc.Faults {
	faults := t.coveredFaults(role, "arguments", maps.Keys(p.Arguments), tools)
	faults = append(faults, t.coveredFaults(role, "effects", maps.Keys(p.Effects), tools)...)
	faults = append(faults, t.coveredFaults(role, "effects", maps.Keys(p.Destinations), tools)...)
	for _, f := range t.Registry.CeilingFaults(role) {
		faults = append(faults, t.Config.Fault(role, f.Key, -1, f.Message))
	}
	return faults
}

// approverFaults returns a fault for each key of a role that says who may decide about an
// unknown tool, and for each that its label contradicts.
func (t *Deployment) approverFaults(role string, tools []string) yamldoc.Faults {
	faults := t.coveredFaults(role, "approvals.approvers.tools", slices.Values(t.Config.ApproverTools(role)), tools)
	return append(faults, t.Config.ApproverFaults(role, t.findLabel)...)
}

// taskFaults returns the same faults for what narrows the principals, and a fault for
// each unknown tool there.
func (t *Deployment) taskFaults(tools []string) (faults yamldoc.Faults) {
	for _, name := range slices.Sorted(maps.Keys(t.Config.Principals)) {
		narrowed := t.Config.Principals[name].Task
		if narrowed == nil {
			continue
		}
		of := "principals." + name + "."
		faults = append(faults, t.findUnknown("", of+"tools", narrowed.Tools, tools)...)
		faults = append(faults, t.coveredFaults("", of+"arguments", maps.Keys(narrowed.Arguments), tools)...)
		for _, f := range t.Registry.TaskFaults(narrowed.Arguments) {
			faults = append(faults, t.Config.Fault("", of+f.Key, -1, f.Message))
		}
	}
	return faults
}

// coveredFaults returns a fault for each key that covers no tool which may exist.
func (t *Deployment) coveredFaults(role, at string, keys iter.Seq[string], tools []string) (faults yamldoc.Faults) {
	for _, key := range slices.Sorted(keys) {
		text := ""
		switch {
		case strings.HasPrefix(key, "mcp__"):
			if why := t.describeNoServer((&sallyport.Tool{Name: key}).Server()); why != "" {
				text = fmt.Sprintf("%q is of no server: %s", key, why)
			}
		case !slices.Contains(tools, key):
			text = describeUnknown(key, tools)
		}
		if text != "" {
			faults = append(faults, t.Config.Fault(role, at+"."+key, -1, text))
		}
	}
	return faults
}

// describeNoServer says that no server has a name, and which there are; empty when one
// has it.
func (t *Deployment) describeNoServer(name string) string {
	var names []string
	for i := range t.Config.Servers {
		names = append(names, t.Config.Servers[i].ID)
	}
	switch {
	case slices.Contains(names, name):
		return ""
	case yamldoc.Suggest(name, names) != "":
		return fmt.Sprintf("did you mean %q?", yamldoc.Suggest(name, names))
	}
	return notDefined(name, "mcp_servers", names)
}
