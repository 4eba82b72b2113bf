package report

import (
	"cmp"
	"runtime"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/sandbox"
)

// Enforcement is one line about a limit that this machine enforces.
type Enforcement struct {
	// What is limited.
	What string `json:"what"`
	// How says how it is enforced, or why not.
	How string `json:"how"`
	// On reports whether it is enforced.
	On bool `json:"on"`
}

// DescribeEnforcement lists the limits that are enforced here and those that are not.
// The first lines hold on every system. A limit that needs the kernel is named
// where the kernel lacks it.
func DescribeEnforcement(rt *app.Runtime) []Enforcement {
	report := rt.Children.Report()
	list := []Enforcement{
		{"files", "opened beneath the granted folders, links and races included; deny floor on the opened file", true},
		{"network", "hosts of the grant; address floor on the dialled address; every redirect", true},
		{"secrets", "granted references; values removed from everything that leaves", true},
		{"record", "intent before, outcome after, denials included; keyed chain in " + cmp.Or(rt.InForce().Config.State.Path, "memory"), true},
		{"tools in this process", "Go code behind accessors, not confined by the kernel", false},
	}
	list = append(list, DescribeConfinement(&report, rt.Toolchains)...)
	list = append(list, sharedRootEntries(rt)...)
	if runtime.GOOS == "windows" {
		list = append(list, Enforcement{"file modes", "state and key rely on the folder's access list, not on modes", false})
	}
	return list
}

// PrintEnforcement prints what is enforced, a line each.
func PrintEnforcement(p *Printer, list []Enforcement) {
	rows := [][]string{}
	for _, e := range list {
		word := p.ColourGood("enforced")
		if !e.On {
			word = p.ColourBad("not confined")
		}
		rows = append(rows, []string{word, e.What, e.How})
	}
	p.PrintTable(rows)
}

// DescribeConfinement describes the confinement of child processes, for check and
// serve.
func DescribeConfinement(r *sandbox.Report, shown []sandbox.Toolchain) []Enforcement {
	switch {
	case r.Level == "":
		return []Enforcement{{"child processes", "refused: the level " + string(r.Wanted) + " needs what is missing here: " + r.Missing, false}}
	case r.Level == sallyport.LevelNone:
		return []Enforcement{{"child processes", "level none: NOT CONFINED, because the configuration says sandbox: none", false}}
	}
	list := []Enforcement{{"child processes", "level " + string(r.Level) + ", shown by a child that attacked it", true}}
	for _, l := range r.Layers {
		list = append(list, Enforcement{"  " + l.Name, l.How, l.On})
	}
	return append(list, describeVisible(r.Level, shown)...)
}

// sharedRootEntries names the write entries whose children run as root although other
// children of this gate do not.
func sharedRootEntries(rt *app.Runtime) (list []Enforcement) {
	for _, path := range rt.InForce().Config.WriteEntries() {
		if why := rt.Children.Shared(path); why != nil {
			list = append(list, Enforcement{"  users", "children that may write " + path + " run as root of the host, since it cannot be shown as another user's: " + why.Error(), false})
		}
	}
	return list
}

// describeVisible describes what children see of this machine besides the system
// folders and their reach. Caches are shown where there is a mount namespace.
func describeVisible(level sallyport.Level, shown []sandbox.Toolchain) []Enforcement {
	var dirs, caches []string
	for _, t := range shown {
		dirs = append(dirs, t.Dirs...)
		for _, c := range t.Caches {
			caches = append(caches, c.Host)
		}
	}
	list := []Enforcement{{"  toolchains", "none are shown", true}}
	if len(dirs) > 0 {
		list[0].How = "every child sees, read only: " + strings.Join(dirs, ", ")
	}
	if len(caches) > 0 && level != sallyport.LevelLandlock {
		list = append(list, Enforcement{
			"  caches", "every child sees, and writes a copy of its own: " + strings.Join(caches, ", ") + "; toolchains: [] shows none", true,
		})
	}
	return list
}
