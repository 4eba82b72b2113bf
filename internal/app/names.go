package app

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/yamldoc"
	"github.com/sallyport/sallyport/registry"
)

// checkNames refuses names that refer to nothing: a tool or label of a
// personality or a receiver of notices, a connection or relay of an action.
func (t *Deployment) checkNames() error {
	var names, labels []string
	for _, tool := range t.Registry.Tools() {
		if n := len(names); n == 0 || names[n-1] != tool.Name { // a prompt may have the name of a tool
			names = append(names, tool.Name)
		}
		if label := "@" + tool.Toolset; !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	// A rule about a tool that needs a connection may exist before the
	// connection does.
	held := append(slices.Clone(names), UnconnectedTools()...)
	var faults yamldoc.Faults
	ruled := slices.Concat([]string{"*", "@mcp"}, labels, held)
	for _, role := range t.Config.Names() {
		p, _ := t.Config.Personality(role)
		faults = append(faults, t.findUnknown(role, "toolset", p.Toolset, append(labels, names...))...)
		if p.Approvals != nil {
			faults = append(faults, t.findUnknown(role, "approvals.require", p.Approvals.Require, held)...)
			faults = append(faults, t.approverFaults(role, ruled)...)
		}
		faults = append(faults, t.findUnknown(role, "safety.flow.allow", p.Flow.Allow, ruled)...)
		faults = append(faults, t.findUnknown(role, "safety.flow.after_untrusted.approve", p.Flow.Approve, ruled)...)
		faults = append(faults, t.findUnknown(role, "safety.flow.after_untrusted.refuse", p.Flow.Refuse, ruled)...)
		faults = append(faults, t.argumentFaults(role, p, ruled)...)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Config.Notices)) {
		faults = append(faults, t.findUnknown("", "notices."+name+".tools", t.Config.Notices[name].Tools, held)...)
	}
	faults = append(faults, t.taskFaults(ruled)...)
	faults = append(faults, t.unknownConnections()...)
	if len(faults) > 0 {
		return faults
	}
	return nil
}

// checkWorkspace warns of a missing workspace. Without it every path below it
// is out of reach, which looks like the effect of a rule.
func (t *Deployment) checkWorkspace() {
	info, err := os.Stat(t.Config.Workspace)
	why := "it is not a folder"
	switch {
	case err != nil:
		why = fsx.Reason(err)
	case info.IsDir():
		return
	}
	t.warnings = append(t.warnings, t.Config.Fault("", "workspace", -1,
		"workspace: "+t.Config.Workspace+": "+why+"; tools reach nothing below it until the folder exists").Error())
}

// UnconnectedTools lists the built-in tools that exist only with a connection. A
// start does not make them only to ask for their names.
func UnconnectedTools() []string { return []string{"db-query", "db-write", "email-send"} }

// findUnknown returns a fault for each unknown entry in a list of a personality.
func (t *Deployment) findUnknown(role, key string, list, known []string) (faults yamldoc.Faults) {
	for i, item := range list {
		if slices.Contains(known, item) || strings.HasPrefix(item, "mcp__") {
			continue
		}
		faults = append(faults, t.Config.Fault(role, key, i, describeUnknown(item, known)))
	}
	return faults
}

// describeUnknown says that a word is no tool and no label, and which were meant.
func describeUnknown(item string, known []string) string {
	if m := explainUnconfigured(item); m.Why != "" {
		return m.Why + ": " + m.Fix
	}
	text := fmt.Sprintf("%q is no tool", item)
	if strings.HasPrefix(item, "@") {
		text = fmt.Sprintf("%q is no label of a tool", item)
	}
	if near := yamldoc.Suggest(item, known); near != "" {
		return text + fmt.Sprintf(" (did you mean %q?)", near)
	}
	return text + ": expected " + strings.Join(known, ", ")
}

// unknownConnections returns a fault for each database and relay that an action
// declares and the configuration lacks.
func (t *Deployment) unknownConnections() (faults yamldoc.Faults) {
	databases := slices.Sorted(maps.Keys(t.Config.Databases))
	relays := slices.Sorted(maps.Keys(t.Config.Mail))
	for _, a := range t.Config.Actions {
		i := slices.IndexFunc(t.Tools, func(tool sallyport.Tool) bool { return tool.Name == a.ID })
		if i < 0 {
			continue
		}
		c := &t.Tools[i].Capabilities
		if c.Database != nil {
			for i, name := range c.Database.Connections {
				if !slices.Contains(databases, name) {
					faults = append(faults, a.Fault("/capabilities/database/connections/"+strconv.Itoa(i), notDefined(name, "databases", databases)))
				}
			}
		}
		if c.Mail != nil {
			if relay := cmp.Or(c.Mail.Relay, DefaultRelay); !slices.Contains(relays, relay) {
				faults = append(faults, a.Fault("/capabilities/mail/relay", notDefined(relay, "mail", relays)))
			}
		}
	}
	return faults
}

// notDefined says that a name is not defined under a key, and lists the names
// that are.
func notDefined(name, key string, known []string) string {
	text := fmt.Sprintf("%q is not defined under %s", name, key)
	if len(known) == 0 {
		return text + ": define it there"
	}
	return text + ": expected " + strings.Join(known, " or ")
}

// locateFault adds file positions to the errors of a registry about actions and
// servers. It leaves other errors as they are.
func (t *Deployment) locateFault(err error) error {
	found, ok := errors.AsType[registry.Faults](err)
	if !ok {
		return err
	}
	var faults yamldoc.Faults
	for _, f := range found {
		p, pointer := t.findDeclaration(f.Tool)
		if p == nil {
			return err
		}
		if f.Capability != "" {
			pointer = "/capabilities/" + strings.ReplaceAll(f.Capability, ".", "/")
		}
		faults = append(faults, p.Fault(pointer, f.Message))
	}
	return faults
}

// findDeclaration returns the part that declares a tool and the pointer of the name
// in it; nil when no file declares the tool.
func (t *Deployment) findDeclaration(id string) (p *config.Part, pointer string) {
	_, tool := sallyport.ParseID(id)
	for i := range t.Config.Actions {
		if t.Config.Actions[i].ID == tool {
			return &t.Config.Actions[i], "/id"
		}
	}
	for i := range t.Config.Servers {
		if upstream.DiscoveryName(t.Config.Servers[i].ID) == tool {
			return &t.Config.Servers[i], ""
		}
	}
	return nil, ""
}
