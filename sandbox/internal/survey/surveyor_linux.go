package survey

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/text"
)

// Bounds of one survey. A checkout of the Linux kernel has 6,000 directories,
// a large monorepo with its node_modules about 100,000.
const (
	maxDirectories = 200_000
	maxDepth       = 128
	// maxMasks is the number of mounts that a child is worth waiting for;
	// each costs about 10 µs.
	maxMasks = 1024
	// maxAliases bounds how often a directory is looked at again because a
	// symbolic link gives it another name.
	maxAliases = 4096
	// maxAttempts is how often a survey starts again when the tree changes
	// under it.
	maxAttempts = 3
)

// New returns a surveyor.
func New() *Surveyor {
	return &Surveyor{
		cache: newCache(cacheBytes),
		names: compilePrefixes(denyfloor.Rules()),
		limit: surveyBounds{maxDirectories, maxDepth, maxMasks, maxAliases},

		mounts: MountPoints,
	}
}

// errChanged means that the tree was rearranged during the survey.
var errChanged = errors.New("the tree below the reach keeps changing while it is surveyed; try again")

// Floor returns which existing paths at or below the reach are on the floor,
// sorted by path so that a directory precedes what lies in it: first cover the
// one, then the other. read and write are absolute paths; missing ones are
// skipped. Rules for writing count beneath write paths only.
//
// A masked directory is not entered, except that beneath one that stays
// readable the rules for reading still count. A symbolic link on the floor
// masks what it leads to when that is in the reach; so does a link to a
// directory whose other name puts part of it on the floor, such as .git. A
// regular file that is a further hard link of a protected file, as far as the
// floor knows those, is masked like it. A directory that cannot be listed, but
// whose contents a child could open, is masked as a whole, as is one that lies
// more than 128 levels deep, and a mount below the reach that holds no files:
// /proc of a chroot, for one.
//
// Not covered: another bind mount of a protected file, and hard links of files
// that are protected against writing only.
//
// What is more than the bounds allow takes nothing else with it: the fullest
// directory is withheld, except for what was in it first ([Mask.But]).
//
// The error is that of the context or of the file system.
func (s *Surveyor) Floor(ctx context.Context, floor *denyfloor.Floor, read, write []string) ([]Mask, error) {
	masks, err := s.retrySurvey(ctx, floor, read, write)
	if err != nil {
		return nil, err
	}
	return masks, nil
}

// retrySurvey surveys until the tree holds still and the bounds are kept. Beside
// an error it returns what it had found.
func (s *Surveyor) retrySurvey(ctx context.Context, floor *denyfloor.Floor, read, write []string) ([]Mask, error) {
	crowded := make(map[string]bool)
	for changes := 0; ; {
		masks, err := s.surveyOnce(ctx, floor, read, write, crowded)
		full, isFull := errors.AsType[*overflowError](err)
		switch {
		case err == nil:
			return masks, nil
		case isFull && !crowded[full.dir]:
			crowded[full.dir] = true
		case errors.Is(err, errChanged) && changes < maxAttempts-1:
			changes++
		default:
			return masks, err
		}
	}
}

// Planted returns the paths that are on the floor now and have no mask in
// before, or one of another file: what was made where the floor lies, such as
// the hooks of a new repository, or took the place of what was there. It does
// not say by whom. Symbolic links are reported like files. Beside an error it
// returns what it had found.
func (s *Surveyor) Planted(ctx context.Context, floor *denyfloor.Floor, write []string, before []Mask) ([]Mask, error) {
	now, err := s.retrySurvey(ctx, floor, nil, write)
	known := make(map[string]Mask, len(before))
	for _, m := range before {
		known[m.Path] = m
	}
	return slices.DeleteFunc(now, func(m Mask) bool {
		old, ok := known[m.Path]
		return m.Missing || m.Kept || ok && m.Dev == old.Dev && m.Ino == old.Ino
	}), err
}

// Pins returns the directories between the write reach and each mask in it,
// sorted. A mount does not keep the directories above it from being renamed,
// and then a child could put something else in the place of a protected file.
// A directory that is mounted on itself cannot be renamed (EBUSY, rename(2)).
// A path of the reach within another one is such a directory, too: nothing says
// that it has a mount of its own. Both lists must hold resolved paths.
func Pins(masks []Mask, write []string) []string {
	seen := make(map[string]bool)
	for _, m := range masks {
		for dir := filepath.Dir(m.Path); dir != "/" && isInside(write, filepath.Dir(dir)); dir = filepath.Dir(dir) {
			seen[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// surveyOnce is one attempt. Beside an error it returns what it had found.
func (s *Surveyor) surveyOnce(ctx context.Context, floor *denyfloor.Floor, read, write []string, crowded map[string]bool) ([]Mask, error) {
	w := &walker{Surveyor: s, ctx: ctx, floor: floor, masks: make(map[string]Mask), aliased: make(map[string]bool)}
	w.crowded, w.bounds = crowded, s.limit
	w.kernel, w.modules = make(map[string]bool), make(map[string]bool)
	w.linked, w.linkedKey = linkedFiles(floor)
	var roots []reachRoot
	for _, p := range read {
		roots = w.addRoot(roots, p, opRead)
	}
	for _, p := range write {
		roots = w.addRoot(roots, p, opWrite)
	}
	for _, r := range roots {
		w.reach = append(w.reach, r.real)
		if r.op == opWrite {
			w.write = append(w.write, r.real)
		}
	}
	if err := w.maskKernel(); err != nil {
		return nil, err
	}
	// Sorted, an outer directory precedes those in it, which need no walk of
	// their own.
	slices.SortFunc(roots, func(a, b reachRoot) int { return strings.Compare(a.real, b.real) })
	var done []string
	for _, r := range roots {
		if err := w.surveyRoot(r, isInside(done, r.real)); err != nil {
			found, _ := w.sortedMasks() // The error that counts is the other one.
			return found, err
		}
		done = append(done, r.real)
	}
	if err := w.maskOwn(); err != nil {
		return nil, err
	}
	return w.sortedMasks()
}

// shortenPath cuts the middle out of a path that is too long to read.
func shortenPath(path string) string {
	return text.ClipMiddle(path, 150)
}
