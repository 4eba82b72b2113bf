package command

import (
	"runtime"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/sandbox"
)

// enforcement is one line about a limit that this machine enforces.
type enforcement struct {
	What string `json:"what"`
	How  string `json:"how"`
	On   bool   `json:"on"`
}

// describeEnforcement lists the limits that are enforced here and those that are not.
// The first lines hold on every system. A limit that needs the kernel is named
// where the kernel lacks it.
func describeEnforcement(rt *app.Runtime) []enforcement {
	report := rt.Children.Report()
	list := []enforcement{
		{"files", "opened beneath the granted folders, links and races included; deny floor on the opened file", true},
		{"network", "hosts of the grant; address floor on the dialled address; every redirect", true},
		{"secrets", "granted references; values removed from everything that leaves", true},
		{"record", "intent before, outcome after, denials included; keyed chain in " + orMemory(rt.Config.State.Path), true},
		{"tools in this process", "Go code behind accessors, not confined by the kernel", false},
	}
	list = append(list, describeConfinement(&report, rt.Toolchains)...)
	list = append(list, sharedRootEntries(rt)...)
	if runtime.GOOS == "windows" {
		list = append(list, enforcement{"file modes", "state and key rely on the folder's access list, not on modes", false})
	}
	return list
}

func orMemory(path string) string {
	if path == "" {
		return "memory"
	}
	return path
}

func printEnforcement(p *report.Printer, list []enforcement) {
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

// describeConfinement describes the confinement of child processes, for check and
// serve.
func describeConfinement(r *sandbox.Report, shown []sandbox.Toolchain) []enforcement {
	switch {
	case r.Level == "":
		return []enforcement{{"child processes", "refused: the level " + string(r.Wanted) + " needs what is missing here: " + r.Missing, false}}
	case r.Level == sallyport.LevelNone:
		return []enforcement{{"child processes", "level none: NOT CONFINED, because the configuration says sandbox: none", false}}
	}
	list := []enforcement{{"child processes", "level " + string(r.Level) + ", shown by a child that attacked it", true}}
	for _, l := range r.Layers {
		list = append(list, enforcement{"  " + l.Name, l.How, l.On})
	}
	return append(list, describeVisible(r.Level, shown)...)
}

// sharedRootEntries names the write entries whose children run as root although other
// children of this gate do not.
func sharedRootEntries(rt *app.Runtime) (list []enforcement) {
	for _, path := range rt.Config.WriteEntries() {
		if why := rt.Children.Shared(path); why != nil {
			list = append(list, enforcement{"  users", "children that may write " + path + " run as root of the host, since it cannot be shown as another user's: " + why.Error(), false})
		}
	}
	return list
}

// describeVisible describes what children see of this machine besides the system
// folders and their reach. Caches are shown where there is a mount namespace.
func describeVisible(level sallyport.Level, shown []sandbox.Toolchain) []enforcement {
	var dirs, caches []string
	for _, t := range shown {
		dirs = append(dirs, t.Dirs...)
		for _, c := range t.Caches {
			caches = append(caches, c.Host)
		}
	}
	list := []enforcement{{"  toolchains", "none are shown", true}}
	if len(dirs) > 0 {
		list[0].How = "every child sees, read only: " + strings.Join(dirs, ", ")
	}
	if len(caches) > 0 && level != sallyport.LevelLandlock {
		list = append(list, enforcement{
			"  caches", "every child sees, and writes a copy of its own: " + strings.Join(caches, ", ") + "; toolchains: [] shows none", true,
		})
	}
	return list
}
