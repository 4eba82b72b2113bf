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

// mountEntry is one mount: where, and whether it holds files.
type mountEntry struct {
	point string
	files bool
}

// readMounts returns the mounts of this process, one that lies under another
// one, too: better too many than one too few.
func readMounts() ([]mountEntry, error) {
	data, err := os.ReadFile(mountsFile)
	if err != nil {
		return nil, fmt.Errorf("the mounts of this machine are not known: %w", err)
	}
	return parseMounts(string(data))
}

func parseMounts(text string) ([]mountEntry, error) {
	var out []mountEntry
	for line := range strings.Lines(text) {
		// 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw
		before, after, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " - ")
		fields, kind := strings.Split(before, " "), strings.SplitN(after, " ", 2)[0]
		if !ok || len(fields) < 6 || kind == "" {
			return nil, fmt.Errorf("%s has the line %q, which is not known", mountsFile, line)
		}
		base, _, _ := strings.Cut(kind, ".")
		out = append(out, mountEntry{unescapeOctal(fields[4]), ordinary[kind] || base == "fuse"})
	}
	return out, nil
}

// unescapeOctal undoes the octal numbers for blanks, tabs, newlines and
// backslashes.
func unescapeOctal(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, `\`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = after
		if len(after) >= 3 {
			if n, err := strconv.ParseUint(after[:3], 8, 8); err == nil {
				b.WriteByte(byte(n))
				s = after[3:]
				continue
			}
		}
		b.WriteByte('\\')
	}
}

// maskKernel masks the mounts in the reach that hold no files, and what of the
// reach lies in one.
func (w *walker) maskKernel() error {
	mounts, err := w.mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if !m.files && isInside(w.reach, m.point) {
			w.maskMount(m.point)
		}
	}
	for _, r := range w.reach {
		var around mountEntry
		for _, m := range mounts {
			longer := len(m.point) > len(around.point) || len(m.point) == len(around.point) && !m.files
			if reach.Within(m.point, r) && longer {
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
