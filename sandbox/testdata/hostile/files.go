package main

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

func (t *Target) outside(name string) string { return filepath.Join(t.Root, "outside", name) }
func (t *Target) ws(name string) string      { return filepath.Join(t.Root, "ws", name) }

var fileAttacks = []attack{
	{"read outside", func(t *Target) (string, error) { return holds(os.ReadFile(t.outside("secret"))) }},
	{"write outside", func(t *Target) (string, error) {
		f, err := os.OpenFile(t.outside("write"), os.O_WRONLY, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = f.WriteString("x")
		return "it was written", err
	}},
	{"create outside", func(t *Target) (string, error) {
		return "it was made", os.WriteFile(t.outside("created"), nil, 0o600)
	}},
	{"list outside", func(t *Target) (string, error) {
		names, err := os.ReadDir(t.outside(""))
		if err == nil && len(names) == 0 {
			err = errNothing
		}
		return "names were read", err
	}},
	{"truncate outside", func(t *Target) (string, error) { return "it was cut", os.Truncate(t.outside("truncate"), 0) }},
	{"remove outside", func(t *Target) (string, error) { return "it was removed", os.Remove(t.outside("remove")) }},
	{"execute outside", func(t *Target) (string, error) { return answers(t.outside("hello"), "hello") }},
	{"planted symbolic link", func(t *Target) (string, error) {
		_ = os.Remove(t.ws("link"))
		if err := os.Symlink(t.outside("secret"), t.ws("link")); err != nil {
			return "", err
		}
		return holds(os.ReadFile(t.ws("link")))
	}},
	{"hard link into the reach", func(t *Target) (string, error) {
		_ = os.Remove(t.ws("hard"))
		if err := os.Link(t.outside("secret"), t.ws("hard")); err != nil {
			return "", err
		}
		return holds(os.ReadFile(t.ws("hard")))
	}},
	{"rename out of the reach", func(t *Target) (string, error) {
		if err := os.WriteFile(t.ws("moving"), nil, 0o600); err != nil {
			return "", err
		}
		return "it was moved", os.Rename(t.ws("moving"), t.outside("moved"))
	}},
	{"rename into the reach", func(t *Target) (string, error) {
		return "it was moved", os.Rename(t.outside("rename"), t.ws("renamed"))
	}},
	{"replace a program in the read reach", func(t *Target) (string, error) {
		return "it was replaced", os.WriteFile(filepath.Join(t.Root, "bin", "program"), []byte("x"), 0o755)
	}},
	{"stat outside", func(t *Target) (string, error) {
		_, err := os.Stat(t.outside("secret"))
		return "it exists", err
	}},
	{"chdir outside", func(t *Target) (string, error) { return "it is there", os.Chdir(t.outside("")) }},
	{"chmod outside", func(t *Target) (string, error) { return "the mode was set", os.Chmod(t.outside("meta"), 0o666) }},
	{"chown outside", func(t *Target) (string, error) {
		return "the owner was set", os.Chown(t.outside("meta"), os.Getuid(), os.Getgid())
	}},
	{"utime outside", func(t *Target) (string, error) {
		return "the time was set", os.Chtimes(t.outside("meta"), time.Unix(1, 0), time.Unix(1, 0))
	}},
	{"setxattr outside", func(t *Target) (string, error) {
		return "the attribute was set", unix.Setxattr(t.outside("meta"), "user.x", []byte("x"), 0)
	}},
	{"list the root directory", func(*Target) (string, error) {
		names, err := os.ReadDir("/")
		if err == nil && len(names) == 0 {
			err = errNothing
		}
		return "names were read", err
	}},
	{"make a block device", func(t *Target) (string, error) {
		_ = os.Remove(t.ws("disk"))
		return "the disk has a node in reach", unix.Mknod(t.ws("disk"), unix.S_IFBLK|0o600, int(t.Device))
	}},
	{"open a file by its inode", byHandle},
	{"write a kernel setting", func(*Target) (string, error) {
		return opened("/proc/sys/kernel/core_pattern", os.O_WRONLY)
	}},
	{"leave the control group", func(*Target) (string, error) {
		for _, path := range []string{
			"/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/pids/cgroup.procs",
		} {
			if seen, err := opened(path, os.O_WRONLY); err == nil {
				return seen, nil
			}
		}
		return "", errors.New("no group")
	}},
}

func opened(path string, flags int) (string, error) {
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return "", err
	}
	return "it opens", f.Close()
}

// byHandle opens a file of the same file system that no path leads to.
func byHandle(t *Target) (string, error) {
	dir, err := unix.Open(t.ws(""), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	fd, err := unix.OpenByHandleAt(dir, unix.NewFileHandle(t.HandleType, t.Handle), unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	buf := make([]byte, 64)
	n, err := unix.Read(fd, buf)
	return holds(buf[:max(n, 0)], err)
}

var floorAttacks = []attack{
	{"read a key in reach", func(t *Target) (string, error) { return holds(os.ReadFile(t.ws(".ssh/id_rsa"))) }},
	{"read a key through another hard link in reach", func(t *Target) (string, error) {
		return holds(os.ReadFile(t.ws("linked")))
	}},
	{"read a key after renaming its folder", func(t *Target) (string, error) {
		if err := os.Rename(t.ws(".ssh"), t.ws("shown")); err != nil {
			return "", err
		}
		defer os.Rename(t.ws("shown"), t.ws(".ssh"))
		return holds(os.ReadFile(t.ws("shown/id_rsa")))
	}},
	{"plant a git hook", func(t *Target) (string, error) {
		return "it was planted", os.WriteFile(t.ws(".git/hooks/pre-commit"), []byte("x"), 0o755)
	}},
	{"write the git configuration", func(t *Target) (string, error) {
		f, err := os.OpenFile(t.ws(".git/config"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = f.WriteString("# x\n")
		return "it was written", err
	}},
	{"rename .git and make another", func(t *Target) (string, error) {
		if err := os.Rename(t.ws(".git"), t.ws("git")); err != nil {
			return "", err
		}
		defer func() {
			_ = os.RemoveAll(t.ws(".git"))
			_ = os.Rename(t.ws("git"), t.ws(".git"))
		}()
		if err := os.MkdirAll(t.ws(".git/hooks"), 0o755); err != nil {
			return "", err
		}
		return "it was planted", os.WriteFile(t.ws(".git/hooks/pre-commit"), []byte("x"), 0o755)
	}},
	{"exchange .git for another", func(t *Target) (string, error) {
		if err := os.MkdirAll(t.ws("other/hooks"), 0o755); err != nil {
			return "", err
		}
		swap := func() error {
			return unix.Renameat2(unix.AT_FDCWD, t.ws(".git"), unix.AT_FDCWD, t.ws("other"), unix.RENAME_EXCHANGE)
		}
		if err := swap(); err != nil {
			return "", err
		}
		return "they were exchanged", swap()
	}},
	{"rename the hooks", func(t *Target) (string, error) {
		if err := os.Rename(t.ws(".git/hooks"), t.ws("hooks")); err != nil {
			return "", err
		}
		return "they were moved", os.Rename(t.ws("hooks"), t.ws(".git/hooks"))
	}},
}
