package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport/internal/pending"
	"github.com/sallyport/sallyport/sandbox"
)

// WarmHelpers is the number of sandboxes that a server keeps ready for its next
// children.
const WarmHelpers = 2

// openChildren creates the runner of child processes. A single command starts
// its child cold; a server keeps some sandboxes warm.
func (rt *Runtime) openChildren() error {
	shown, err := rt.findToolchains(rt.Env.Home)
	if err != nil {
		return err
	}
	rt.Toolchains = shown
	rt.makeUserFolders()
	runner, err := sandbox.New(&sandbox.Options{
		Level: rt.InForce().Config.Sandbox.Level, Files: rt.files, Network: rt.network, Warm: -1, Logger: rt.Logger,
		Toolchains: shown, Pending: rt.PendingChanges().Dir,
		Limits: sandbox.Limits{
			Memory: rt.InForce().Config.Sandbox.Memory, Processes: rt.InForce().Config.Sandbox.Processes, CPUs: rt.InForce().Config.Sandbox.CPUs,
			FileBytes: rt.InForce().Config.Sandbox.FileSize, TmpBytes: rt.InForce().Config.Sandbox.Tmp,
			LayerBytes: rt.InForce().Config.Sandbox.Layer, LayerFiles: rt.InForce().Config.Sandbox.LayerFiles, Layers: rt.InForce().Config.Sandbox.Layers,
		},
	})
	if err != nil {
		return err
	}
	rt.Children = runner
	rt.closers = append(rt.closers, runner.Close)
	return nil
}

// makeUserFolders makes the user's folders of this program where a role may write the
// folder that they are to lie in: children are kept from what is there when they start.
func (rt *Runtime) makeUserFolders() {
	var folders []string
	if folder := rt.Env.serverFolder(); folder != "" {
		folders = append(folders, filepath.Dir(folder))
	}
	if rt.Env.Home != "" {
		folders = append(folders, userFolder(rt.Env.Home))
	}
	for _, folder := range folders {
		if rt.isWritable(folder) {
			_ = os.MkdirAll(folder, 0o700) // without it, no command believes what is there
		}
	}
}

// findToolchains returns the toolchains of the configuration, or those found on
// this machine when the configuration names none. A folder that tools can write
// is left out when it was found, and is an error when it was named.
func (rt *Runtime) findToolchains(home string) ([]sandbox.Toolchain, error) {
	list := []sandbox.Toolchain{}
	if rt.InForce().Config.Sandbox.Toolchains == nil {
		for _, t := range sandbox.Toolchains(home) {
			if slices.ContainsFunc(t.Dirs, rt.isWritable) {
				continue
			}
			t.Caches = slices.DeleteFunc(t.Caches, func(c sandbox.Cache) bool { return rt.isWritable(c.Host) })
			list = append(list, t)
		}
		return list, nil
	}
	for i, dir := range rt.InForce().Config.Sandbox.Toolchains {
		t, err := rt.newToolchain(dir, home)
		if err != nil {
			key := fmt.Sprintf("sandbox.toolchains.%d", i)
			return nil, fmt.Errorf("%s: %s: %w", rt.InForce().Config.Source(key), key, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// newToolchain returns a toolchain for a folder of the configuration. The
// configuration has checked the name of the folder; this function follows its
// links on the disk.
func (rt *Runtime) newToolchain(dir, home string) (sandbox.Toolchain, error) {
	if info, err := os.Stat(filepath.Join(dir, "bin")); err != nil || !info.IsDir() {
		return sandbox.Toolchain{}, fmt.Errorf("%q has no folder bin: expected the folder of a toolchain, such as /opt/node", dir)
	}
	return sandbox.Dir(dir), rt.InForce().Config.CheckToolchain(dir, home, resolveLinks)
}

// isWritable reports whether a tool of any personality may write a folder or a
// part of it.
func (rt *Runtime) isWritable(dir string) bool {
	return rt.InForce().Config.Writable(dir, resolveLinks) != nil
}

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

// PendingChanges returns the store of changes that wait for a user to review them.
func (rt *Runtime) PendingChanges() pending.Store {
	return pending.Store{Dir: filepath.Join(rt.OwnFolder(), "pending")}
}
