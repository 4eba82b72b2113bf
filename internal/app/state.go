package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
)

// openState opens a state of any kind that a configuration may name.
func openState(ctx context.Context, s config.State, logger *slog.Logger) (store.State, error) {
	switch s.Kind {
	case config.StateMemory:
		return memory.New(nil)
	case config.StateSQLite:
		for _, path := range listStateFiles(s.Path) {
			if err := checkStateFile(path); err != nil {
				return nil, err
			}
		}
		return sqlite.Open(ctx, s.Path, &sqlite.Options{Logger: logger})
	default:
		return nil, fmt.Errorf("no backend stores state of the kind %q", s.Kind)
	}
}

// listStateFiles returns the paths of a state file and of the folder with its record.
func listStateFiles(path string) []string { return []string{path, path + "-log"} }

// lacksState reports whether there is neither a state file nor its record. One of both
// alone is not that: to open it says what is wrong.
func lacksState(path string) bool {
	for _, path := range listStateFiles(path) {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// checkStateFile refuses a file, or the folder of the record, that other users may read
// or write. This program makes
// none: such a file came from elsewhere, as with a repository, and who made it knows
// the tokens that it holds and what it says is approved.
func checkStateFile(path string) error {
	const others = 0o006
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&others == 0 {
		return nil // the store says what is wrong with a file that cannot be looked at
	}
	mode := "600"
	if info.IsDir() {
		mode = "700"
	}
	return fmt.Errorf("%s is open to other users (mode %#o), as is what comes with a repository, whose makers know the tokens in it: remove it, or chmod %s it if it is yours",
		path, info.Mode().Perm(), mode)
}

// openStore opens the state that the configuration names.
func (rt *Runtime) openStore(ctx context.Context) error {
	return rt.useState(ctx, rt.InForce().Config.State)
}

// openMemory opens a state that ends with the command.
func (rt *Runtime) openMemory(ctx context.Context) error {
	return rt.useState(ctx, config.State{Kind: config.StateMemory})
}

// useState opens a state and makes it the state of the gate.
func (rt *Runtime) useState(ctx context.Context, s config.State) error {
	state, err := openState(ctx, s, rt.Logger)
	if err != nil {
		return err
	}
	rt.State, rt.Access, rt.Settings, rt.Approvals = state, state, state.Settings(), state.Approvals()
	rt.agents = newAgentState(state, s.Path)
	rt.openRules()
	rt.Passing = s.Path == ""
	rt.closers = append(rt.closers, state.Close, rt.agents.closeMemory)
	return nil
}

// openView opens a state that ends with the command. It takes the principals
// and kill switches from the state of the configuration.
func (rt *Runtime) openView(ctx context.Context) error {
	if err := rt.openMemory(ctx); err != nil {
		return err
	}
	path := rt.InForce().Config.State.Path
	if path == "" {
		return nil
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	state, err := openState(ctx, rt.InForce().Config.State, nil)
	if err != nil {
		// A state of another owner must not keep the command from describing a
		// configuration.
		rt.Logger.Warn("the state cannot be read: what is stopped, and principals of the state, are left out", "error", err)
		return nil
	}
	rt.Access, rt.trusted = state, state.Settings()
	rt.closers = append(rt.closers, state.Close)
	return nil
}
