package survey

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// whyKernel is the reason of a mask over what is no file system for files.
const whyKernel = "a file system of the kernel, or of a kind that is not known"

// ordinary are the file systems that hold files: Documentation/filesystems of
// the kernel, and those of distributions. All others are masked: what proc,
// sysfs, cgroup, debugfs, securityfs, bpf, mqueue and their like show is the
// machine, whatever the names in them.
var ordinary = map[string]bool{
	"9p": true, "acfs": true, "affs": true, "afs": true, "apfs": true, "aufs": true, "autofs": true, "bcachefs": true,
	"beegfs": true, "btrfs": true, "ceph": true, "cifs": true, "cramfs": true, "drvfs": true, "ecryptfs": true, "erofs": true,
	"exfat": true, "ext2": true, "ext3": true, "ext4": true, "f2fs": true, "fakeowner": true, "fuse": true, "fuseblk": true,
	"gfs2": true, "gpfs": true, "hfs": true, "hfsplus": true, "iso9660": true, "jffs2": true, "jfs": true,
	"lustre": true, "minix": true, "msdos": true, "nfs": true, "nfs4": true, "nilfs2": true, "ntfs": true,
	"ntfs3": true, "ocfs2": true, "orangefs": true, "overlay": true, "prl_fs": true, "ramfs": true, "reiserfs": true,
	"rootfs": true, "shiftfs": true, "smb3": true, "squashfs": true, "tmpfs": true, "ubifs": true, "udf": true,
	"vboxsf": true, "vfat": true, "virtiofs": true, "vmhgfs": true, "vxfs": true, "wslfs": true, "xfs": true, "zfs": true, "zonefs": true,
}

// mountsFile lists the mounts of this process; see proc_pid_mountinfo(5).
const mountsFile = "/proc/self/mountinfo"

// MountPoint is a mount of this process.
type MountPoint struct {
	// ID is its number, as statx(2) has it.
	ID uint64
	// Path is where it is.
	Path string

	files bool // it holds files
}

// MountPoints lists the mounts of this process, those that others hide
// included, in the order in which they were made.
func MountPoints() ([]MountPoint, error) {
	data, err := os.ReadFile(mountsFile)
	if err != nil {
		return nil, fmt.Errorf("the mounts of this machine are not known: %w", err)
	}
	return parseMounts(string(data))
}

func parseMounts(text string) ([]MountPoint, error) {
	var out []MountPoint
	for line := range strings.Lines(text) {
		// 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw
		before, after, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		fields, kind := strings.Split(before, " "), strings.SplitN(after, " ", 2)[0]
		id, err := strconv.ParseUint(fields[0], 10, 64)
		if !ok || err != nil || len(fields) < 6 || kind == "" {
			return nil, fmt.Errorf("%s has the line %q, which is not known", mountsFile, line)
		}
		base, _, _ := strings.Cut(kind, ".")
		out = append(out, MountPoint{id, escapes.Replace(fields[4]), ordinary[kind] || base == "fuse"})
	}
	return out, nil
}

// escapes are what the kernel writes for blanks, tabs, newlines and backslashes
// in a path.
var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// Below picks those that lie below a path, without one on the path itself.
func Below(all []MountPoint, path string) []MountPoint {
	var out []MountPoint
	for _, m := range all {
		if m.Path != path && reach.Within(path, m.Path) {
			out = append(out, m)
		}
	}
	return out
}

// maskKernel masks the mounts in the reach that hold no files, and what of the
// reach lies in one.
func (w *walker) maskKernel() error {
	mounts, err := w.mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if !m.files && isInside(w.reach, m.Path) {
			w.maskMount(m.Path)
		}
	}
	for _, r := range w.reach {
		var around MountPoint
		for _, m := range mounts {
			longer := len(m.Path) > len(around.Path) || len(m.Path) == len(around.Path) && !m.files
			if reach.Within(m.Path, r) && longer {
				around = m
			}
		}
		if !around.files {
			w.maskMount(r)
		}
	}
	return nil
}

func (w *walker) maskMount(path string) {
	info, err := os.Lstat(path)
	if err != nil {
		return // It lies under another mount.
	}
	w.kernel[path] = true
	w.addMask(Mask{Path: path, Dir: info.IsDir(), Class: denyfloor.Absolute, Why: whyKernel})
}
