package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// systemDirs and systemFiles are what every child sees of the system.
var systemDirs, systemFiles = reach.SystemDirs(), reach.SystemFiles()

// ofSystem reports whether a path lies in one of the folders.
func ofSystem(path string) bool {
	return slices.ContainsFunc(systemDirs, func(dir string) bool { return reach.Within(dir, path) })
}

// javaManagement is the folder of remote management in the configuration of Java, which is
// the place of its passwords: it is covered.
const javaManagement = "management"

// maxCopied is the size up to which a file of the system is copied, which
// costs a helper less than a mount does.
const maxCopied = 8 << 10

// devices are the harmless ones; they are shown from the host, because a user
// namespace cannot make any.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// baseOps builds the part of the tree that does not depend on the grant.
func (r *Runner) baseOps() ([]helper.Op, error) {
	ops := append(procOps(), []helper.Op{
		{Do: helper.DoTmpfs, Path: tmpDir, Mode: 0o1777, Size: r.o.Limits.TmpBytes, Exec: true},
		{Do: helper.DoDir, Path: homeDir, Mode: 0o700},
		{Do: helper.DoDir, Path: "/tmp/.shm", Mode: 0o1777},
		{Do: helper.DoDir, Path: "/var", Mode: 0o755},
		// A mount and no link to /tmp: a reach may lie below it.
		{Do: helper.DoTmpfs, Path: varTmpDir, Mode: 0o1777, Size: r.o.Limits.TmpBytes, Exec: true},
		{Do: helper.DoDir, Path: "/run", Mode: 0o755},
		{Do: helper.DoLink, Path: "/dev/shm", Source: "/tmp/.shm"},
		{Do: helper.DoLink, Path: "/dev/fd", Source: "/proc/self/fd"},
		{Do: helper.DoLink, Path: "/dev/stdin", Source: "/proc/self/fd/0"},
		{Do: helper.DoLink, Path: "/dev/stdout", Source: "/proc/self/fd/1"},
		{Do: helper.DoLink, Path: "/dev/stderr", Source: "/proc/self/fd/2"},
	}...)
	for _, d := range devices {
		// A device takes writes on a read-only mount; its mode and owner stay,
		// which to a child of root would be its own.
		ops = append(ops, helper.Op{Do: helper.DoBind, Path: d, Source: d, Device: true, Optional: true})
	}
	for _, list := range [][]string{systemDirs, systemFiles} {
		for _, path := range list {
			op, err := systemPathOps(path)
			if err != nil {
				return nil, err
			}
			ops = append(ops, op...)
		}
	}
	ops = append(ops, javaOps()...)
	return append(ops, accountOps()...), nil
}

// javaOps returns the steps that show the configuration of the installed
// versions of Java.
func javaOps() []helper.Op {
	dirs, _ := filepath.Glob(reach.JavaConfig) // the pattern is sound
	var ops []helper.Op
	for _, dir := range dirs {
		ops = append(ops, helper.Op{Do: helper.DoBind, Path: dir, Source: dir, Optional: true},
			helper.Op{Do: helper.DoCover, Path: filepath.Join(dir, javaManagement), Optional: true})
	}
	return ops
}

// systemPathOps returns the step that shows a path of the system; a link is
// made anew. What does not exist needs no step.
func systemPathOps(path string) ([]helper.Op, error) {
	info, err := os.Lstat(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	if info.Mode().IsRegular() && info.Size() <= maxCopied && info.Mode()&0o004 != 0 {
		// Helpers are not kept when /etc changes.
		if data, err := os.ReadFile(path); err == nil {
			return []helper.Op{{Do: helper.DoFile, Path: path, Data: data, Mode: 0o444}}, nil
		}
	}
	if info.Mode()&os.ModeSymlink == 0 {
		return []helper.Op{{Do: helper.DoBind, Path: path, Source: path, Exec: true, Optional: true}}, nil
	}
	if strings.HasPrefix(path, "/etc/") {
		// /etc/localtime and its like lead out of /etc: show what is there.
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil, nil
		}
		return []helper.Op{{Do: helper.DoBind, Path: path, Source: real, Optional: true}}, nil
	}
	text, err := os.Readlink(path)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	return []helper.Op{{Do: helper.DoLink, Path: path, Source: text}}, nil
}

// accountOps returns the steps that make the files in which programs look up
// their user.
func accountOps() []helper.Op {
	uid, gid := childIDs()
	file := func(path, text string) helper.Op {
		return helper.Op{Do: helper.DoFile, Path: path, Data: []byte(text), Mode: 0o644}
	}
	return []helper.Op{
		file("/etc/passwd", fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", userName, uid, gid, homeDir)+
			"nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"),
		file("/etc/group", fmt.Sprintf("%s:x:%d:\nnogroup:x:65534:\n", userName, gid)),
		file("/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
	}
}

// toolchainOps shows the toolchains and their caches.
func (r *Runner) toolchainOps() []helper.Op {
	var ops []helper.Op
	for i, t := range r.o.Toolchains {
		for _, dir := range t.Dirs {
			ops = append(ops, helper.Op{Do: helper.DoBind, Path: dir, Source: dir, Exec: true, Optional: true})
		}
		for j, c := range t.Caches {
			ops = append(ops, helper.Op{
				Do: helper.DoOverlay, Path: filepath.Join(homeDir, c.Home), Source: c.Host, Exec: true, Optional: true,
				Memory: fmt.Sprintf("/tmp/.cache-%d-%d", i, j),
			})
		}
	}
	return ops
}

// visibleDirs is where a program may lie besides the reach.
func (r *Runner) visibleDirs() []string {
	dirs := append([]string{}, systemDirs...)
	for _, t := range r.o.Toolchains {
		dirs = append(dirs, t.Dirs...)
	}
	return dirs
}

// childIDs is who the child is inside. Programs that find themselves to be
// root change owners and skip checks; a child of root is an ordinary user
// inside, and root's files still are its own.
func childIDs() (uid, gid int) {
	uid, gid = os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid = 1000
	}
	if gid == 0 {
		gid = 1000
	}
	return uid, gid
}
