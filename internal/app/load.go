package app

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/config"
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
		_, err := os.Lstat(filepath.Join(env.Dir, ConfigName))
		if errors.Is(err, fs.ErrNotExist) {
			text, err := config.Preset(config.DefaultPreset)
			if err != nil {
				return nil, false, err
			}
			c, err := config.Parse(filepath.Join(env.Dir, ConfigName), text, o)
			return c, true, err
		}
		paths = []string{ConfigName}
	}
	c, err = config.Load(paths, o)
	return c, false, err
}

// ConfigOptions returns what a configuration may know of its environment.
func (env *Environment) ConfigOptions() *config.Options {
	return &config.Options{Home: env.Home, Dir: env.Dir, Texts: env.Texts, Environ: func(name string) string {
		v, _ := env.Lookup(name)
		return v
	}}
}
