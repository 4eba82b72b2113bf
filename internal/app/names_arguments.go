package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// coveredFaults returns a fault for each ceiling that covers no tool which may exist.
func (t *Deployment) coveredFaults(role, at string, ceilings map[string]json.RawMessage, tools []string) (faults yamldoc.Faults) {
	for _, key := range slices.Sorted(maps.Keys(ceilings)) {
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
