package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// crowded lists system folders below which everything of a kind lives: no
// toolchain is one of them (the Filesystem Hierarchy Standard 3.0, and what
// systemd and macOS add). Folders directly below the root are refused without
// being listed.
var crowded = []string{
	"/usr/local", "/usr/share", "/usr/src", "/usr/lib", "/usr/libexec", "/usr/include",
	"/var/cache", "/var/db", "/var/lib", "/var/log", "/var/mail", "/var/opt", "/var/run", "/var/spool", "/var/tmp", "/var/www",
	"/run/user", "/run/secrets", "/mnt/wsl", "/private/etc", "/private/tmp", "/private/var", "/etc/opt",
}

// forbidden lists folders that hold no toolchain at any depth: settings, and
// what the kernel shows of itself.
var forbidden = []string{"/etc", "/proc", "/sys", "/dev", "/boot", "/run/user", "/run/secrets"}

// homes lists folders whose direct members are the homes of users.
var homes = []string{"/home", "/Users", "/var/home", "/usr/home", "/export/home"}

// errWide says what is expected in place of a folder that is not a toolchain.
var errWide = errors.New("is not a toolchain: children would see all of it; expected the folder of one toolchain, such as /opt/node")

// checkNarrow reports an error for a folder that holds more than a toolchain.
func checkNarrow(path, home string) error {
	parent := filepath.Dir(path)
	switch {
	case parent == path || filepath.Dir(parent) == parent:
	case home != "" && reach.Within(path, home), reach.Within(path, "/root"):
	case slices.Contains(crowded, path), slices.Contains(homes, path), slices.Contains(homes, parent):
	case slices.ContainsFunc(forbidden, func(dir string) bool { return reach.Within(dir, path) }):
	default:
		return nil
	}
	return fmt.Errorf("%s %w", yamldoc.Quote(path), errWide)
}

// parseToolchain reads a folder that children see.
func (s *scope) parseToolchain(v string) (string, error) {
	path, err := s.resolvePath(v)
	if err != nil {
		return "", err
	}
	return path, checkNarrow(path, s.opts.Home)
}

// reservedFolder is a folder that a toolchain must be apart from.
type reservedFolder struct{ path, what string }

// reservedFolders lists what no toolchain may share a folder with: what tools change, so
// that none of them provides what children of another one run, and what is
// the gate's own.
func (c *Config) reservedFolders() []reservedFolder {
	list := []reservedFolder{{c.Workspace, "the workspace"}}
	if c.State.Path != "" {
		list = append(list, reservedFolder{filepath.Dir(c.State.Path), "the folder of the state"})
	}
	for _, b := range c.Secrets {
		if b.Dir != "" {
			list = append(list, reservedFolder{b.Dir, "the folder of secrets"})
		}
		if b.File != "" {
			list = append(list, reservedFolder{b.File, "the file of secrets"})
		}
	}
	return append(list, c.writableFolders()...)
}

// writableFolders lists what tools may change.
func (c *Config) writableFolders() (list []reservedFolder) {
	for _, w := range c.WritePlaces() {
		list = append(list, reservedFolder{w.Path, "what " + w.Key + " grants"})
	}
	return list
}

// CheckToolchain reports why a folder of sandbox.toolchains cannot be one. It
// is lexical; follow, when it is not nil, makes each path one without links. The
// configuration has passed without it when it was read, so that a caller
// with a disk asks once more.
func (c *Config) CheckToolchain(dir, home string, follow func(string) string) error {
	if follow == nil {
		follow = filepath.Clean
	}
	dir = follow(dir)
	if home != "" {
		home = follow(home)
	}
	if err := checkNarrow(dir, home); err != nil {
		return err
	}
	return checkApart(dir, c.reservedFolders(), follow)
}

// Writable reports why a folder that children see is one that tools may
// change, nil when it is not. Links are followed as in [Config.CheckToolchain].
func (c *Config) Writable(dir string, follow func(string) string) error {
	return checkApart(follow(dir), c.writableFolders(), follow)
}

func checkApart(dir string, list []reservedFolder, follow func(string) string) error {
	for _, k := range list {
		path, how := follow(k.path), ""
		switch {
		case path == dir:
			how = "is"
		case reach.Within(path, dir):
			how = "lies inside"
		case reach.Within(dir, path):
			how = "holds"
		default:
			continue
		}
		return fmt.Errorf("%s %s %s: expected a folder outside of it that no tool can change", yamldoc.Quote(dir), how, k.what)
	}
	return nil
}

// checkToolchains reports toolchains that are not apart from what tools change. It
// comes after everything else has been read.
func (l *loader) checkToolchains() {
	for i, dir := range l.cfg.Sandbox.Toolchains {
		key := "sandbox.toolchains." + strconv.Itoa(i)
		err := l.cfg.CheckToolchain(dir, l.opts.Home, nil)
		if at, ok := l.places[key]; ok && err != nil {
			l.addFault(at.file, at.at, key, "%s: %s", key, strings.TrimSpace(err.Error()))
		}
	}
}
