package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/config"
)

// checkUnwritten refuses a command when tools may write one of the files that it
// runs.
func (t *Deployment) checkUnwritten(env *Environment, argv []string) error {
	vars := env.pathVariables(t.Config)
	vars["workspace"], vars["self"] = t.Config.Workspace, t.Config.Dir
	for _, f := range t.programFiles(&config.Part{Dir: t.Config.Dir}, argv, vars) {
		if by := t.findWriter(f.path); by != "" {
			return writableError(f.path, by)
		}
	}
	return nil
}

func writableError(path, by string) error {
	return fmt.Errorf("%s is not run: %s may write there, so an agent can change what it does; move it to a folder that no tool may write", path, by)
}

// programEnvironment returns the environment of the gate without the values of
// its own secrets.
func programEnvironment(pairs []string, c *config.Config) map[string]string {
	env := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		secret := slices.ContainsFunc(c.Secrets, func(b config.SecretBackend) bool {
			return b.EnvPrefix != "" && strings.HasPrefix(name, b.EnvPrefix)
		})
		if _, twice := env[name]; ok && name != "" && !secret && !twice {
			env[name] = value
		}
	}
	return env
}
