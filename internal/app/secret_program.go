package app

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/secretstore"
	"github.com/sallyport/sallyport/sandbox"
)

// openProgram returns the secrets of a program of the operator. The program is
// not confined: it needs the logins of the user, which no grant reaches. So it
// must lie where no tool may write, which is looked at now and before each
// start. Nor is it started in a form that the user has not accepted.
func (rt *Runtime) openProgram(t *Deployment, index int, argv []string) (*secretstore.Program, error) {
	if err := t.checkUnwritten(rt.Env, argv); err != nil {
		return nil, err
	}
	if err := rt.warnOfProgram(t, index, argv); err != nil {
		return nil, err
	}
	if t.plain == nil {
		runner, err := sandbox.New(&sandbox.Options{Level: sallyport.LevelNone, Warm: -1, Logger: rt.Logger})
		if err != nil {
			return nil, err
		}
		t.plain = runner
		t.closers = append(t.closers, runner.Close)
	}
	return secretstore.NewProgram(argv, secretstore.ProgramOptions{
		Runner: t.plain, Env: programEnvironment(rt.Env.Pairs(), t.Config),
		Check: func(path string) error {
			if by := t.FindWriter(path); by != "" {
				return writableError(path, by)
			}
			if err := t.checkUnwritten(rt.Env, argv); err != nil {
				return err
			}
			err := rt.checkAccepted(t, argv)
			if err != nil && rt.Logger != nil {
				rt.Logger.Warn("a program of secrets is not started", "program", argv[0], "error", err)
			}
			return err
		},
	}), nil
}

// checkUnwritten refuses a command when tools may write one of the files that it
// runs.
func (t *Deployment) checkUnwritten(env *Environment, argv []string) error {
	vars := env.pathVariables(t.Config)
	vars["workspace"], vars["self"] = t.Config.Workspace, t.Config.Dir
	for _, f := range t.programFiles(&config.Part{Dir: t.Config.Dir}, argv, vars) {
		if by := t.FindWriter(f.path); by != "" {
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
