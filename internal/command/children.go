package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox"
)

// warmHelpers is the number of sandboxes that a server keeps ready for its next
// children.
const warmHelpers = 2

// openChildren creates the runner of child processes. A single command starts
// its child cold; a server keeps some sandboxes warm.
func (g *gate) openChildren(env *environment, files *sallyport.FileBackend, network *sallyport.NetworkBackend) error {
	shown, err := g.findToolchains(env.home)
	if err != nil {
		return err
	}
	g.shown = shown
	runner, err := sandbox.New(&sandbox.Options{
		Level: g.config.Sandbox.Level, Files: files, Network: network, Warm: -1, Logger: g.logger,
		Toolchains: shown, Pending: g.pendingStore(env).Dir,
		Limits: sandbox.Limits{
			Memory: g.config.Sandbox.Memory, Processes: g.config.Sandbox.Processes, CPUs: g.config.Sandbox.CPUs,
			FileBytes: g.config.Sandbox.FileSize, TmpBytes: g.config.Sandbox.Tmp,
			LayerBytes: g.config.Sandbox.Layer, LayerFiles: g.config.Sandbox.LayerFiles, Layers: g.config.Sandbox.Layers,
		},
	})
	if err != nil {
		return err
	}
	g.children = runner
	g.closers = append(g.closers, runner.Close)
	return nil
}

// findToolchains returns the toolchains of the configuration, or those found on
// this machine when the configuration names none. A folder that tools can write
// is left out when it was found, and is an error when it was named.
func (g *gate) findToolchains(home string) ([]sandbox.Toolchain, error) {
	list := []sandbox.Toolchain{}
	if g.config.Sandbox.Toolchains == nil {
		for _, t := range sandbox.Toolchains(home) {
			if slices.ContainsFunc(t.Dirs, g.isWritable) {
				continue
			}
			t.Caches = slices.DeleteFunc(t.Caches, func(c sandbox.Cache) bool { return g.isWritable(c.Host) })
			list = append(list, t)
		}
		return list, nil
	}
	for i, dir := range g.config.Sandbox.Toolchains {
		t, err := g.newToolchain(dir, home)
		if err != nil {
			key := fmt.Sprintf("sandbox.toolchains.%d", i)
			return nil, fmt.Errorf("%s: %s: %w", g.config.Source(key), key, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// newToolchain returns a toolchain for a folder of the configuration. The
// configuration has checked the name of the folder; this function follows its
// links on the disk.
func (g *gate) newToolchain(dir, home string) (sandbox.Toolchain, error) {
	if info, err := os.Stat(filepath.Join(dir, "bin")); err != nil || !info.IsDir() {
		return sandbox.Toolchain{}, fmt.Errorf("%q has no folder bin: expected the folder of a toolchain, such as /opt/node", dir)
	}
	return sandbox.Dir(dir), g.config.CheckToolchain(dir, home, resolveLinks)
}

// isWritable reports whether a tool of any personality may write a folder or a
// part of it.
func (g *gate) isWritable(dir string) bool { return g.config.Writable(dir, resolveLinks) != nil }

// resolveLinks returns a path with its symbolic links resolved. It returns a path
// that does not exist unchanged.
func resolveLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolveLinks(dir), filepath.Base(path))
	}
	return path
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
func (g *gate) sharedRootEntries() (list []enforcement) {
	for _, path := range g.config.WriteEntries() {
		if why := g.children.Shared(path); why != nil {
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
