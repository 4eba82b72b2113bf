package app

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// checkDatabases compares the connections that an action declares with those of the
// configuration: a declaration of code is trusted, one of a file may be misspelt, or want
// more than the connection gives.
func checkDatabases(a *config.Part, d *sallyport.DatabaseCapability, all map[string]config.Database) (faults yamldoc.Faults) {
	if d == nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(all))
	for i, name := range d.Connections {
		at := "/capabilities/database/connections/" + strconv.Itoa(i)
		switch own, ok := all[name]; {
		case !ok:
			faults = append(faults, a.Fault(at, fmt.Sprintf("%s is not defined under databases%s", yamldoc.Quote(name), yamldoc.AdviseName(name, names, names))))
		case d.Mode == sallyport.ModeWrite && !own.Write:
			faults = append(faults, a.Fault("/capabilities/database/mode", fmt.Sprintf("the connection %s is for reading: its own mode would have to be write", yamldoc.Quote(name))))
		}
	}
	return faults
}
