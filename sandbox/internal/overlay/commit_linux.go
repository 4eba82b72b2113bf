package overlay

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// Why a change is not carried over, after the code where there is one.
const (
	staleChanged  = string(sallyport.CodeStaleWrite) + ": changed on the host since the start"
	staleVanished = string(sallyport.CodeStaleWrite) + ": removed on the host since the start"
	staleParent   = string(sallyport.CodeStaleWrite) + ": the directory around it is not there"
	staleRace     = string(sallyport.CodeStaleWrite) + ": changed on the host while it was being carried over"
	staleOpen     = string(sallyport.CodeStaleWrite) + ": open for writing on the host"
	staleClock    = string(sallyport.CodeStaleWrite) + ": the clock was set back, so that changes of the host cannot be seen"
	whyLate       = "the commit ended before it"
	whyLeads      = "leads to where a protected file would be under another name"
)

// Commit carries over what the child wrote and returns all of it, sorted by
// path: with Committed set, or with Why. What is on the floor for writing is
// left out, as is what the host changed since the start, whose Why begins with
// STALE_WRITE. A directory is removed whole or not at all. When the host
// changes a file in the very moment, its work stays and a copy of what the
// child wrote is kept beside it; Kept and Why say where.
//
// The error is that of reading the layer or of the context; what was committed
// until then stays, and is marked in the result.
func (v *Overlay) Commit(ctx context.Context, floor *denyfloor.Floor) ([]sallyport.Change, error) {
	steps, err := v.planSteps(ctx)
	if err != nil {
		return nil, err
	}
	j := &commitChecker{Overlay: v, ctx: ctx, floor: floor}
	var roots []string
	for _, n := range v.names {
		roots = append(roots, n.given, n.real)
	}
	if j.masks, err = v.o.Surveyor.Floor(ctx, floor, nil, roots); err != nil {
		return nil, err
	}
	// All are judged before the first is carried over, so that what the
	// commit itself changes is not taken for a change of the host.
	for _, s := range steps {
		if s.Why == "" {
			if s.Why, err = j.findReason(s); err != nil {
				return nil, err
			}
		}
	}
	v.keepPending(steps)
	c := &carrier{start: v.start, away: make(map[inode]bool)}
	for _, s := range steps {
		switch err = ctx.Err(); {
		case s.Why != "":
		case err != nil:
			s.Why = whyLate
		default:
			c.carryStep(s)
		}
	}
	// A directory gets its mode after what is in it, for its owner may have
	// closed it to himself.
	for _, s := range slices.Backward(steps) {
		c.setFinalMode(s)
	}
	err = errors.Join(err, v.syncDirs(steps))
	c.removeOldest(0)
	return changesOf(steps), err
}

// syncDirs makes the new names durable; the contents are.
func (v *Overlay) syncDirs(steps []*step) error {
	for _, l := range v.layers {
		if !slices.ContainsFunc(steps, func(s *step) bool { return s.layer == l && s.Committed }) {
			continue
		}
		dir, err := l.openBase(".")
		if err != nil {
			return err
		}
		err = unix.Fsync(int(dir.Fd()))
		_ = dir.Close() // It was only synced.
		if err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("sync %s: %w", l.lower, err)
		}
	}
	return nil
}

// commitChecker checks which steps may be carried over.
type commitChecker struct {
	*Overlay
	ctx     context.Context
	floor   *denyfloor.Floor
	masks   []survey.Mask
	visited int
}

// findReason returns the reason against a step, empty when there is none.
func (j *commitChecker) findReason(s *step) (string, error) {
	if r, project := j.projectRule(s.layer, s.rel); project {
		file := s.do == placeFile && (!s.base.exists || s.base.fileType() == unix.S_IFREG)
		if s.waits = file || s.do == removeAny && !s.base.isDir(); s.waits {
			why, err := j.staleReason(s)
			if s.waits = why == "" && err == nil; !s.waits {
				return why, err
			}
		}
		if s.waits || s.do == makeDir && !s.base.exists {
			return whyWaits + r.Reason, nil
		}
	}
	if why := j.floorReason(s.layer, s.rel); why != "" {
		return why, nil
	}
	if why := j.steeringReason(s); why != "" {
		return why, nil
	}
	if s.do == placeLink || s.do == placeFile && strings.EqualFold(filepath.Base(s.rel), ".git") {
		// A link or a file "gitdir: …" by which another directory becomes
		// the repository, whose hooks and configuration were not checked.
		reserved := func(name string) bool { return j.o.Surveyor.Reserved(j.floor, name) }
		if slices.ContainsFunc(j.namesOf(s.Path), reserved) {
			return whyLeads, nil
		}
	}
	return j.staleReason(s)
}

// staleReason returns what the host did since the start, and what is against
// the removal of a directory.
func (j *commitChecker) staleReason(s *step) (string, error) {
	switch {
	case clockSetBack(j.start):
		return staleClock, nil
	case !s.base.exists && s.origin:
		return j.vanishedReason(s)
	case s.base.isDir() && (s.do == removeAny || s.do == placeFile || s.do == placeLink):
		return j.treeReason(s.layer, s.rel)
	case s.base.exists && j.isChanged(&s.base.st):
		return staleChanged, nil
	}
	return "", nil
}

// vanishedReason returns what is against a copy of a lower file in whose place
// nothing is. Either the host removed the lower file, or the child renamed the
// copy, which it cannot do to a directory. A removal shows in the directory
// around it.
func (j *commitChecker) vanishedReason(s *step) (string, error) {
	around, err := s.layer.statDir(filepath.Dir(s.rel))
	if err != nil {
		return "", err
	}
	if s.do == makeDir || around.exists && j.isChanged(&around.st) {
		return staleVanished, nil
	}
	return "", nil
}

// namesOf returns a path under each of its names: by which write path
// whatsoever it was granted.
func (j *commitChecker) namesOf(path string) []string {
	list := []string{path}
	for _, n := range j.names {
		if n.given != n.real && reach.Within(n.real, path) {
			list = append(list, filepath.Join(n.given, strings.TrimPrefix(path, n.real)))
		}
	}
	return list
}

// floorReason returns what the floor has against a path under any of its names.
func (j *commitChecker) floorReason(l *layer, rel string) string {
	path := filepath.Join(l.lower, rel)
	for _, name := range j.namesOf(path) {
		if why, denied := j.floor.Check("write", name); denied {
			return "on the always-deny floor: " + why
		}
	}
	for _, m := range j.masks {
		if m.Path == path || !m.Link && !m.Kept && m.Covers(path) {
			return "on the always-deny floor: " + m.Why
		}
	}
	return ""
}

// steeringReason returns a reason against what steers a repository under any
// name, one that the child made included, and what makes one of a directory
// that has such files already. What is in both layers counts: it was one
// repository to the child.
func (j *commitChecker) steeringReason(s *step) string {
	for dir := s.rel; dir != "."; {
		dir = filepath.Dir(dir)
		rel, err := filepath.Rel(dir, s.rel)
		if err != nil {
			return "on the always-deny floor: " + denyfloor.RepositoryReason
		}
		entry, _, _ := strings.Cut(rel, "/")
		lower, both := s.layer.entryLookups(dir)
		if _, denied := j.floor.InRepository(rel); denied && denyfloor.GitDirectory(both) || denyfloor.Completes(entry, lower, both) {
			return "on the always-deny floor: " + denyfloor.RepositoryReason
		}
	}
	return ""
}

// entryLookups returns two functions: one reports whether a name is in a
// directory of the lower layer, the other whether it is there or in the same
// one of the upper layer.
func (l *layer) entryLookups(dir string) (lower, both func(name string) bool) {
	has := func(top, name string) bool {
		var st unix.Stat_t
		return unix.Lstat(filepath.Join(top, dir, name), &st) == nil
	}
	lower = func(name string) bool { return has(l.lower, name) }
	return lower, func(name string) bool { return has(l.upper, name) || lower(name) }
}

// isChanged reports whether something was changed since the start.
func (j *commitChecker) isChanged(st *unix.Stat_t) bool {
	return !time.Unix(st.Ctim.Unix()).Before(j.start.Round(0))
}

// treeReason checks the removal of a directory by everything in it.
func (j *commitChecker) treeReason(l *layer, rel string) (string, error) {
	if err := j.ctx.Err(); err != nil {
		return "", err
	}
	s, err := l.statLower(rel)
	if err != nil || !s.exists {
		return "", err
	}
	if j.visited++; j.visited > j.o.MaxEntries {
		return "too many files are in it to judge its removal", nil
	}
	if why := j.floorReason(l, rel); why != "" {
		return why + " (" + filepath.Join(l.lower, rel) + ")", nil
	}
	if j.isChanged(&s.st) {
		return staleChanged + " (" + filepath.Join(l.lower, rel) + ")", nil
	}
	if !s.isDir() {
		return "", nil
	}
	dir, err := l.openBase(rel)
	if err != nil {
		return "cannot be looked into: " + rel, nil
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close() // It was only read from.
	if err != nil {
		return "", err
	}
	for _, n := range names {
		if why, err := j.treeReason(l, filepath.Join(rel, n)); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}
