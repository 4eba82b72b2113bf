package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport/internal/pending"
	"github.com/sallyport/sallyport/sandbox"
)

// warmHelpers is the number of sandboxes that a server keeps ready for its next
// children.
const warmHelpers = 2

// openChildren creates the runner of child processes. A single command starts
// its child cold; a server keeps some sandboxes warm.
func (g *gate) openChildren() error {
	shown, err := g.findToolchains(g.env.home)
	if err != nil {
		return err
	}
	g.shown = shown
	runner, err := sandbox.New(&sandbox.Options{
		Level: g.config.Sandbox.Level, Files: g.files, Network: g.network, Warm: -1, Logger: g.logger,
		Toolchains: shown, Pending: g.pendingStore().Dir,
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

// pendingStore returns the store of changes that wait for a user to review them.
func (g *gate) pendingStore() pending.Store {
	return pending.Store{Dir: filepath.Join(g.ownFolder(), "pending")}
}
