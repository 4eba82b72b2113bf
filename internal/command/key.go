package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/audit"
)

// openLog opens the audit log on the state and reads the key beside it.
func (g *gate) openLog(ctx context.Context) (err error) {
	if g.key, err = g.loadKey(ctx); err != nil {
		return err
	}
	if g.log, err = audit.New(g.state, g.key, nil); err != nil {
		return err
	}
	g.closers = append(g.closers, g.log.Close)
	return nil
}

// keyPath returns the path of the chain's key. The key lies beside the state
// file, never in it.
func (g *gate) keyPath() string {
	return filepath.Join(filepath.Dir(g.config.State.Path), "audit.key")
}

// loadKey reads the key, or creates one for a chain that has not begun. It does
// not replace a lost key, since a new key would fit no record. It looks at the
// chain before the key: another process that begins the chain at the same time
// creates the key first.
func (g *gate) loadKey(ctx context.Context) (audit.Key, error) {
	if g.passing {
		return randomKey()
	}
	begun := false
	for _, err := range g.state.Read(ctx, audit.Query{Last: 1}) {
		if err != nil {
			return audit.Key{}, err
		}
		begun = true
	}
	if _, err := os.Lstat(g.keyPath()); begun && errors.Is(err, fs.ErrNotExist) {
		return audit.Key{}, fmt.Errorf("the key of the record is gone: put %s back, or move %s away to begin another record", g.keyPath(), g.config.State.Path)
	}
	return audit.LoadKey(g.keyPath())
}

// ownFiles returns the files that no tool may reach: configuration, state, key
// and secrets. The list includes the names at which a later command would look
// for its configuration, even while no file has them: a tool that wrote one
// would set its own ceiling.
func (g *gate) ownFiles(dir string) []string {
	own := append([]string{}, g.config.Files...)
	for _, folder := range []string{dir, g.config.Dir, g.config.Workspace} {
		if folder != "" {
			own = append(own, filepath.Join(folder, configName), filepath.Join(folder, lockName), filepath.Join(folder, stateDir))
		}
	}
	if g.config.State.Path != "" {
		own = append(own, g.config.State.Path, g.keyPath())
	}
	for _, b := range g.config.Secrets {
		if b.Dir != "" {
			own = append(own, b.Dir)
		}
	}
	return own
}
