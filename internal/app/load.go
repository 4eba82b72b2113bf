package app

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/project"
)

// LoadConfig reads the configuration that the flags, the environment or the
// working folder name. Without a file it returns the configuration that init
// would write, held in memory, and builtin is true.
func LoadConfig(env *Environment, paths []string) (c *config.Config, builtin bool, err error) {
	o := env.ConfigOptions()
	if len(paths) == 0 {
		if v, ok := env.Lookup("SALLYPORT_CONFIG"); ok && v != "" {
			paths = []string{v}
		}
	}
	if len(paths) == 0 {
		// A dangling link is a missing configuration, not the absence of one.
		exists := fsx.Exists(filepath.Join(env.Dir, ConfigName))
		if !exists && env.Texts == nil && env.FinishStep(nil) {
			exists = fsx.Exists(filepath.Join(env.Dir, ConfigName)) // import was about to write it
		}
		if !exists {
			text, err := config.Preset(config.DefaultPreset)
			if err != nil {
				return nil, false, err
			}
			c, err := config.Parse(filepath.Join(env.Dir, ConfigName), text, o)
			return c, true, err
		}
		paths = []string{ConfigName}
	}
	for range maxSettle {
		c, err = config.Load(paths, o)
		if env.Texts != nil || !env.FinishStep(paths) && (err != nil || isSettled(c)) {
			break
		}
	}
	return c, false, err
}

// isSettled reports whether the files of a configuration are still what was read: a
// command that writes into them at the same time may have been read by halves.
func isSettled(c *config.Config) bool {
	now, err := config.Fingerprint(c.Files)
	return err == nil && now == c.Digest
}

// FinishStep completes or undoes a change that an earlier command was interrupted in, of
// the files of a configuration and of clients, and waits for one that is under way. No
// paths mean the usual configuration. It reports whether the files may have changed.
func (env *Environment) FinishStep(paths []string) bool {
	if len(paths) == 0 {
		paths = []string{ConfigName}
	}
	files := make([]string, len(paths))
	for i, path := range paths {
		files[i] = fsx.Absolute(env.Dir, path)
	}
	dir := filepath.Dir(files[0])
	folder, err := env.StepFolder(dir)
	if err != nil {
		return false // then no command notes anything
	}
	files = append(files, filepath.Join(dir, LockName), project.IgnoreFile(dir))
	// A copy of a client's file is kept before the file is changed, and of a new file
	// what it is to hold, where no tool can put one.
	done, waited, err := onestep.Finish(folder, func(path string, text []byte) bool {
		return slices.ContainsFunc(files, func(file string) bool { return onestep.IsFile(file, path) }) ||
			copies.FolderOf(env.Home).Holds(text)
	})
	if err != nil {
		// The files are as they are. What the lock file does not pin is not started.
		fmt.Fprintf(env.Stderr, "sallyport: warning: a change of the configuration was interrupted and cannot be completed: %v\n", err)
		return false
	}
	if done != "" {
		fmt.Fprintf(env.Stderr, "sallyport: %s\n", done)
	}
	return waited
}

// ConfigOptions returns what a configuration may know of its environment.
func (env *Environment) ConfigOptions() *config.Options {
	return &config.Options{Home: env.Home, Dir: env.Dir, Texts: env.Texts, Environ: func(name string) string {
		v, _ := env.Lookup(name)
		return v
	}}
}
