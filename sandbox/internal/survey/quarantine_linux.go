package survey

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/scoped"
)

// Quarantined is between the name of what was planted and a random number in
// the name that it gets.
const Quarantined = ".sallyport-planted-"

// repositoryNames are the names in the directory of a repository that the
// floor closes.
var repositoryNames = map[string]bool{
	"hooks": true, "config": true, "config.worktree": true, "commondir": true, "gitdir": true,
	"hgrc": true, "hgrc-not-shared": true, "config.toml": true,
}

// Quarantine puts out of force what of planted lies in the directory of a
// repository that was there before: it gets another name beside its place. No
// mount can cover what does not exist, and a mount over the whole directory
// would keep git from its work: it makes and renames files of any name there.
// A child can therefore create .git/commondir, for one, and whoever runs git on
// the host before the child has ended is at its mercy; afterwards nobody is.
//
// What was there before stays, and so does a repository that the child made
// itself, which is for others to judge. Nothing is removed: the host may have
// made the file meanwhile. moved is the paths that got another name. The error
// says which could not; the others were tried.
func Quarantine(planted, before []Mask) (moved []string, err error) {
	there, repositories := make(map[string]bool), make(map[string]bool)
	for _, m := range before {
		there[m.Path] = true
		if inRepository(m) {
			repositories[filepath.Dir(m.Path)] = true
		}
	}
	for _, m := range planted {
		if there[m.Path] || !inRepository(m) || !repositories[filepath.Dir(m.Path)] {
			continue
		}
		if e := disarm(m); e != nil {
			err = errors.Join(err, fmt.Errorf("rename %s: %w", m.Path, e))
			continue
		}
		moved = append(moved, m.Path)
	}
	return moved, err
}

func inRepository(m Mask) bool {
	return m.Why == scoped.ReasonRepository && repositoryNames[filepath.Base(m.Path)]
}

// disarm renames exactly what was judged, wherever its directory is now.
func disarm(m Mask) error {
	dir, err := openDir(unix.AT_FDCWD, filepath.Dir(m.Path))
	if err != nil {
		return err
	}
	defer dir.Close()
	fd, name := int(dir.Fd()), filepath.Base(m.Path)
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if uint64(st.Dev) != m.Dev || st.Ino != m.Ino {
		return errors.New("it was exchanged")
	}
	var number [6]byte
	rand.Read(number[:]) // Never fails; see crypto/rand.
	return unix.Renameat2(fd, name, fd, name+Quarantined+hex.EncodeToString(number[:]), unix.RENAME_NOREPLACE)
}
