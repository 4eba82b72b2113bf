package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/denyfloor"
)

// openLog opens the audit log on the state and reads the key beside it.
func (rt *Runtime) openLog(ctx context.Context) (err error) {
	if rt.key, err = rt.loadKey(ctx); err != nil {
		return err
	}
	if rt.log, err = audit.New(rt.State, rt.key, nil); err != nil {
		return err
	}
	rt.closers = append(rt.closers, rt.log.Close)
	return nil
}

// KeyPath returns the path of the chain's key. The key lies beside the state
// file, never in it.
func (rt *Runtime) KeyPath() string {
	return filepath.Join(filepath.Dir(rt.InForce().Config.State.Path), "audit.key")
}

// VerifyRecord checks the chain of the record from its beginning.
func (rt *Runtime) VerifyRecord(ctx context.Context) (audit.Report, error) {
	return audit.Verify(ctx, rt.State, rt.key, nil)
}

// Spending is what a principal spent within a day, in US dollars.
type Spending struct {
	// Spent is what its calls cost under all roles.
	Spent *big.Rat
	// Most is its budget; nil for none.
	Most *big.Rat
}

// SpendingOf returns what a principal spent within a day.
func (rt *Runtime) SpendingOf(ctx context.Context, principal string) (Spending, error) {
	totals, err := rt.costs.Totals(ctx, costs.Spender{Principal: principal})
	return Spending{Spent: totals.Principal, Most: rt.InForce().Config.Budgets(principal, "").Principal.Day}, err
}

// loadKey reads the key, or creates one for a chain that has not begun. It does
// not replace a lost key, since a new key would fit no record. It looks at the
// chain before the key: another process that begins the chain at the same time
// creates the key first.
func (rt *Runtime) loadKey(ctx context.Context) (audit.Key, error) {
	if rt.Passing {
		return randomKey()
	}
	begun := false
	for _, err := range rt.State.Read(ctx, audit.Query{Last: 1}) {
		if err != nil {
			return audit.Key{}, err
		}
		begun = true
	}
	if !begun {
		return audit.LoadKey(rt.KeyPath())
	}
	return rt.ReadKey()
}

// ReadKey reads the key of a chain that has begun. It says what to do when it is not
// there.
func (rt *Runtime) ReadKey() (audit.Key, error) {
	key, err := audit.ReadKey(rt.KeyPath())
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	state := rt.InForce().Config.State.Path
	if _, none := os.Lstat(state); errors.Is(none, fs.ErrNotExist) {
		return key, fmt.Errorf("there is no record yet, and no key: the first call makes both: %w", err)
	}
	return key, fmt.Errorf("the key of the record is gone: put %s back, or move %s away to begin another record", rt.KeyPath(), state)
}

// followedFiles returns the files of the configuration, and of a second one that is
// judged beside it.
func (rt *Runtime) followedFiles() []string {
	if rt.shadow == nil {
		return rt.ConfigFiles
	}
	return append(slices.Clone(rt.ConfigFiles), rt.shadow.path)
}

// ownFiles returns the files that no tool may reach: configuration, state, key,
// skills, secrets and what opens them. The list includes the names at which a later command would look
// for its configuration, even while no file has them: a tool that wrote one
// would set its own ceiling. Children find those names taken. A separator ends
// the path of what is a folder, or is to be one.
func (rt *Runtime) ownFiles(dir string) []string {
	own := append([]string{rt.Env.identityPath()}, rt.followedFiles()...)
	for _, folder := range []string{dir, rt.InForce().Config.Dir, rt.InForce().Config.Workspace} {
		if folder != "" {
			own = append(own, filepath.Join(folder, ConfigName), filepath.Join(folder, LockName), asFolder(filepath.Join(folder, StateDir)))
		}
	}
	if folder := rt.Env.serverFolder(); folder != "" {
		// With what other commands of the user keep beside it.
		own = append(own, asFolder(filepath.Dir(folder)))
	}
	if rt.InForce().Config.State.Path != "" {
		path := rt.InForce().Config.State.Path
		// A journal that a child planted would be played back into the state.
		own = append(own, path, path+"-wal", path+"-shm", path+"-journal", asFolder(path+"-log"), rt.KeyPath(), path+memorySuffix, path+callsSuffix)
	}
	if rt.InForce().Config.Skills != "" {
		own = append(own, asFolder(rt.InForce().Config.Skills)) // what agents are told to do
	}
	if t := rt.InForce().Config.TLS; t != nil {
		own = append(own, t.Key, t.Cert)
		if t.ClientCA != "" {
			own = append(own, t.ClientCA) // it says who may be which principal
		}
	}
	own = append(own, knownFiles(rt.InForce().Config)...)  // an agent may not choose what counts as known
	own = append(own, anchorFiles(rt.InForce().Config)...) // nor what proves the record
	if ca := rt.InForce().Config.Audit.CA; ca != "" {
		own = append(own, ca) // it says who is believed to receive the record
	}
	for _, b := range rt.InForce().Config.Secrets {
		if b.Dir != "" {
			own = append(own, asFolder(b.Dir))
		} else if b.File != "" {
			own = append(own, b.File)
		}
	}
	return own
}

// asFolder returns a path in the form in which it is that of a folder.
func asFolder(path string) string { return strings.TrimSuffix(path, "/") + "/" }

// FloorReason returns why no tool may read or write a path, or what it leads to, whatever
// is granted; empty where the deny floor closes nothing of it for good. The operation is
// "read" or "write".
func (rt *Runtime) FloorReason(op, path string) string {
	floor := denyfloor.New(rt.files)
	for _, name := range []string{path, resolveLinks(path)} {
		if rule, denied := floor.Rule(op, name, false); denied && rule.Class == denyfloor.Absolute {
			return rule.Reason
		}
	}
	return ""
}
