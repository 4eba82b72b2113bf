package survey

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/denyfloor"
)

// whyLinked is the reason of a mask over a hard link.
const whyLinked = "another name of a protected file"

// stableAfter is the age that the last change of a directory must have before
// what was read of it is believed later. A change in the same tick of the
// clock as the listing leaves the same time behind: git calls such entries
// racy (Documentation/technical/racy-git.txt). Two seconds are the coarsest
// time stamps of a file system that Linux mounts (FAT).
const stableAfter = 2 * time.Second

// batch is how many entries are read at a time.
const batch = 1024

// openDir opens a directory by a path that must be free of symbolic links.
func openDir(at int, path string) (*os.File, error) {
	how := &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	}
	for {
		fd, err := unix.Openat2(at, path, how)
		if err == nil {
			return os.NewFile(uintptr(fd), path), nil
		}
		// EAGAIN means that something was renamed during the call; see openat2(2).
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// scanDir reads a directory. Its state is taken before the names, so a change
// that the names miss makes the state differ next time.
func (w *walker) scanDir(p surveyedDir, write bool) (*dirListing, error) {
	f, err := openDir(unix.AT_FDCWD, p.real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	now := time.Now()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, err
	}
	l := &dirListing{state: stateOf(&st), linkedKey: w.linkedKey}
	l.stable = now.Sub(time.Unix(st.Ctim.Unix())) >= stableAfter
	var seen repositoryMarks
	for {
		entries, err := f.ReadDir(batch)
		for _, e := range entries {
			seen.recordName(e.Name())
			w.classifyEntry(l, p, e, write)
		}
		switch {
		case errors.Is(err, io.EOF):
			l.repository = seen.isRepository()
			return l, nil
		case err != nil:
			return nil, err
		}
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// classifyEntry sorts one entry by its name. Only what does not depend on other
// directories is kept.
func (w *walker) classifyEntry(l *dirListing, p surveyedDir, e fs.DirEntry, write bool) {
	name, kind := e.Name(), e.Type()
	judged := joinPath(p.named, name)
	isDir, isLink := kind.IsDir(), kind&fs.ModeSymlink != 0
	if m, denied := w.checkName(judged, write, kind.IsRegular()); denied {
		l.hits = append(l.hits, floorHit{strings.Clone(name), isDir, isLink, m.WriteOnly, m.Class, m.Why})
		return
	}
	switch {
	case isDir:
		if !p.isAlias() || w.mayHold(judged) {
			l.subs = append(l.subs, name)
		}
	case isLink:
		if w.mayHold(judged) {
			l.links = append(l.links, name)
		}
	case kind.IsRegular() && len(w.linked) > 0:
		info, err := e.Info()
		if err == nil && w.isLinked(info) {
			l.hits = append(l.hits, floorHit{name: name, class: denyfloor.Absolute, why: whyLinked})
		}
	}
}

func (w *walker) isLinked(info fs.FileInfo) bool {
	return slices.ContainsFunc(w.linked, func(p fs.FileInfo) bool { return os.SameFile(p, info) })
}

// linkedFiles returns the protected files that have several names, and a key
// that is equal for equal sets.
func linkedFiles(floor *denyfloor.Floor) ([]fs.FileInfo, string) {
	files := floor.Linked()
	var key strings.Builder
	for _, f := range files {
		if st, ok := f.Sys().(*syscall.Stat_t); ok {
			fmt.Fprintf(&key, "%x:%x ", st.Dev, st.Ino)
		}
	}
	return files, key.String()
}
