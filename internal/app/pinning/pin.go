package pinning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
)

// PinServers adds to the lock file what it does not hold yet. The paths are the
// configuration files that the user named. It returns the states of the servers
// and how many it added.
func PinServers(ctx context.Context, rt *app.Runtime, paths []string) ([]ServerState, int, error) {
	now := lookAt(ctx, rt, app.EveryServer)
	added, err := pinObserved(ctx, rt, paths, now, app.EveryServer)
	return now.states, added, err
}

// pinObserved adds what was seen of the wanted servers to the lock file.
func pinObserved(ctx context.Context, rt *app.Runtime, paths []string, now *observedLock, wanted func(server string) bool) (int, error) {
	p := rt.InForce().Servers.Pins
	next := &lock.File{Servers: map[string]lock.Server{}}
	if p.File != nil {
		next = p.File
	}
	var added []string
	conflicts := rt.InForce().FindConflicts(rt.InForce().Servers.ListOffers())
	for i := range now.states {
		st := &now.states[i]
		is, ok := now.file.Servers[st.Server]
		if _, known := p.PinnedServer(st.Server); known || !ok || !wanted(st.Server) {
			continue
		}
		// The user approves a definition with a conflicting name separately.
		st.dropConflicting(&is, conflicts)
		now.file.Servers[st.Server] = is
		digest, err := now.file.Digest(lock.Scope{Server: st.Server})
		if err == nil {
			next, err = next.Approve(now.file, lock.Scope{Server: st.Server}, digest)
		}
		if err != nil {
			return 0, err
		}
		st.State, added = StateAdded, append(added, st.Server)
	}
	markChanges(rt, paths, now)
	if len(added) > 0 {
		if err := writeLock(ctx, rt, next, app.ChangeEvent(audit.ActionPin, strings.Join(added, ", "), "into "+p.Path)); err != nil {
			return 0, err
		}
	}
	return len(added), nil
}

// dropConflicting removes from a server the tools whose names conflict with others.
func (st *ServerState) dropConflicting(s *lock.Server, conflicts map[string]string) {
	tools := map[string]lock.Pin{}
	for name, pin := range s.Tools {
		if why := conflicts[pin.Name]; why != "" {
			st.Left = append(st.Left, LeftOut{"tool " + text.PrintableLine(name), text.PrintableLine(why) + "; sallyport diff " + st.Server + " says how to accept it all the same"})
			st.Offers--
			continue
		}
		tools[name] = pin
	}
	slices.SortFunc(st.Left, func(a, b LeftOut) int { return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Why, b.Why)) })
	s.Tools = tools
}

// writeLock records a change of the lock file, then writes the file. Two
// commands that write at once must not lose what the first of them pinned. A lock
// file that is a draft is neither recorded nor written.
func writeLock(ctx context.Context, rt *app.Runtime, next *lock.File, e *audit.Event) error {
	if rt.Env.Texts != nil {
		return draftLock(rt, next)
	}
	// No child process reaches the state folder, so that none can hold this
	// lock.
	private := filepath.Dir(rt.Packages.Dir())
	return rt.RecordFirst(ctx, e, func() error {
		if err := os.MkdirAll(private, 0o700); err != nil {
			return err
		}
		return fsx.Exclusive(private, func() error {
			again, err := app.ReadPins(rt.InForce().Config, rt.Packages, app.HoldPins, nil)
			if err != nil {
				return err
			}
			if changes := lock.Diff(rt.InForce().Servers.Pins.File, again.File); len(changes) > 0 {
				return fmt.Errorf("%s was changed while this command looked: run it again", again.Path)
			}
			return saveLock(rt, next, again.Path)
		})
	})
}

// saveLock writes the lock file. One that is there stays the same file, for children
// that run are kept from it by a mount.
func saveLock(rt *app.Runtime, next *lock.File, path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return next.Save(path)
	}
	if err == nil && info.Mode().Perm()&0o002 != 0 {
		err = os.Chmod(path, info.Mode().Perm()&^0o002)
	}
	old, faultOld := os.ReadFile(path)
	now, faultNow := next.Bytes()
	folder, faultFolder := rt.Env.StepFolder(filepath.Dir(path))
	if err := errors.Join(err, faultOld, faultNow, faultFolder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return onestep.Replace(folder, []onestep.Change{{Path: path, Old: old, New: now}})
}

// draftLock keeps the text of a lock file. Without a server it is none, unless there
// is a file already: beside a lock file only pinned servers start.
func draftLock(rt *app.Runtime, next *lock.File) error {
	path := rt.InForce().Servers.Pins.Path
	if len(next.Servers) == 0 && !fsx.Exists(path) {
		delete(rt.Env.Texts, path)
		return nil
	}
	text, err := next.Bytes()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	rt.Env.Texts[path] = text
	return nil
}
