package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport/internal/reach"
)

// Toolchain is software outside the system's own directories that children
// may see and run, and never change.
type Toolchain struct {
	// Dirs lists absolute directories, shown read-only.
	Dirs []string
	// Bin lists those of their directories that are searched for binaries.
	Bin []string
	// Env is added to the environment; ${home} is the private home.
	Env map[string]string
	// Caches are directories of the host that a child sees filled and may
	// write: what it writes is gone with it.
	Caches []Cache
}

// Cache is a directory whose content children start from.
type Cache struct {
	// Host is the absolute directory of the host.
	Host string
	// Home is where it appears below the private home.
	Home string
}

// Dir is the toolchain of a directory with a folder bin.
func Dir(path string) Toolchain {
	return Toolchain{Dirs: []string{path}, Bin: []string{filepath.Join(path, "bin")}}
}

// Toolchains finds the toolchains of this machine in their usual places: Go in
// /usr/local/go with the module and build caches of the user, Rust in the
// user's home with its registry. The home is that of the user who runs the
// gate; empty leaves out what lives there. What [New] would refuse is left
// out, too.
func Toolchains(home string) []Toolchain {
	found := []Toolchain{}
	for _, t := range []Toolchain{goToolchain(home), rustToolchain(home)} {
		if len(t.Dirs) == 0 || t.validate() != nil {
			continue
		}
		t.Caches = slices.DeleteFunc(t.Caches, func(c Cache) bool { return !isDir(c.Host) || checkShown(c.Host) != nil })
		found = append(found, t)
	}
	return found
}

func goToolchain(home string) Toolchain {
	if !isDir("/usr/local/go/bin") {
		return Toolchain{}
	}
	t := Dir("/usr/local/go")
	t.Env = map[string]string{"GOTOOLCHAIN": "local"}
	if home != "" {
		t.Caches = []Cache{
			{filepath.Join(home, "go", "pkg", "mod"), "go/pkg/mod"},
			{filepath.Join(home, ".cache", "go-build"), ".cache/go-build"},
		}
	}
	return t
}

func rustToolchain(home string) Toolchain {
	cargo, rustup := filepath.Join(home, ".cargo"), filepath.Join(home, ".rustup")
	if home == "" || !isDir(filepath.Join(cargo, "bin")) || !isDir(rustup) {
		return Toolchain{}
	}
	return Toolchain{
		Dirs: []string{filepath.Join(cargo, "bin"), rustup}, Bin: []string{filepath.Join(cargo, "bin")},
		Env:    map[string]string{"RUSTUP_HOME": rustup, "CARGO_HOME": "${home}/.cargo"},
		Caches: []Cache{{filepath.Join(cargo, "registry"), ".cargo/registry"}},
	}
}

// ofKernel reports whether a path lies in what the kernel shows of itself and of
// other processes. A child has its own of these, or none.
func ofKernel(path string) bool {
	return slices.ContainsFunc([]string{"/proc", "/sys", "/dev"}, func(d string) bool { return reach.Within(d, path) })
}

// validate reports why children cannot be shown a toolchain: it would show them
// the machine. Links are judged by where they lead.
func (t *Toolchain) validate() error {
	for _, dir := range t.Dirs {
		if err := checkShown(dir); err != nil {
			return fmt.Errorf("the toolchain %q %w", dir, err)
		}
	}
	for _, c := range t.Caches {
		if err := checkShown(c.Host); err != nil {
			return fmt.Errorf("the cache %q %w", c.Host, err)
		}
		if !filepath.IsLocal(c.Home) {
			return fmt.Errorf("the cache %q appears at %q, which is not below the home", c.Host, c.Home)
		}
	}
	return nil
}

func checkShown(dir string) error {
	if !filepath.IsAbs(dir) {
		return errors.New("is not an absolute path")
	}
	all := []string{filepath.Clean(dir)}
	if followed, err := filepath.EvalSymlinks(dir); err == nil {
		all = append(all, followed)
	}
	for _, path := range all {
		above := filepath.Dir(path)
		if above == path || filepath.Dir(above) == above {
			return fmt.Errorf("shows the machine: %s is the root or directly below it", path)
		}
		if ofKernel(path) {
			return fmt.Errorf("shows the machine: %s is the kernel's", path)
		}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
