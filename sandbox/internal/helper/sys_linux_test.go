package helper

import (
	"bytes"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The numbers are those of package unix.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"open_tree", sysOpenTree, unix.SYS_OPEN_TREE},
		{"move_mount", sysMoveMount, unix.SYS_MOVE_MOUNT},
		{"memfd_create", sysMemfdCreate, unix.SYS_MEMFD_CREATE},
		{"execveat", sysExecveat, unix.SYS_EXECVEAT},
		{"close_range", sysCloseRange, unix.SYS_CLOSE_RANGE},
		{"openat2", sysOpenat2, unix.SYS_OPENAT2},
		{"mount_setattr", sysMountSetattr, unix.SYS_MOUNT_SETATTR},
		{"landlock_create_ruleset", sysLandlockCreate, unix.SYS_LANDLOCK_CREATE_RULESET},
		{"landlock_add_rule", sysLandlockAddRule, unix.SYS_LANDLOCK_ADD_RULE},
		{"landlock_restrict_self", sysLandlockSelf, unix.SYS_LANDLOCK_RESTRICT_SELF},
		{"AT_FDCWD", -atFDCWD, -unix.AT_FDCWD},
		{"AT_EMPTY_PATH", atEmptyPath, unix.AT_EMPTY_PATH},
		{"AT_RECURSIVE", atRecursive, unix.AT_RECURSIVE},
		{"O_PATH", oPath, unix.O_PATH},
		{"RESOLVE_NO_MAGICLINKS", resolveNoMagiclinks, unix.RESOLVE_NO_MAGICLINKS},
		{"RESOLVE_NO_SYMLINKS", resolveNoSymlinks, unix.RESOLVE_NO_SYMLINKS},
		{"OPEN_TREE_CLONE", openTreeClone, unix.OPEN_TREE_CLONE},
		{"OPEN_TREE_CLOEXEC", openTreeCloexec, unix.OPEN_TREE_CLOEXEC},
		{"MOVE_MOUNT_F_EMPTY_PATH", moveMountFromEmpty, unix.MOVE_MOUNT_F_EMPTY_PATH},
		{"MOVE_MOUNT_T_EMPTY_PATH", moveMountToEmpty, unix.MOVE_MOUNT_T_EMPTY_PATH},
		{"MOUNT_ATTR_RDONLY", attrReadOnly, unix.MOUNT_ATTR_RDONLY},
		{"MOUNT_ATTR_NOSUID", attrNoSuid, unix.MOUNT_ATTR_NOSUID},
		{"MOUNT_ATTR_NODEV", attrNoDev, unix.MOUNT_ATTR_NODEV},
		{"MOUNT_ATTR_NOEXEC", attrNoExec, unix.MOUNT_ATTR_NOEXEC},
		{"CLOSE_RANGE_CLOEXEC", closeRangeCloexec, unix.CLOSE_RANGE_CLOEXEC},
		{"PR_SET_PDEATHSIG", prSetPdeathsig, unix.PR_SET_PDEATHSIG},
		{"PR_CAPBSET_DROP", prCapbsetDrop, unix.PR_CAPBSET_DROP},
		{"PR_SET_SECUREBITS", prSetSecurebits, unix.PR_SET_SECUREBITS},
		{"PR_SET_NO_NEW_PRIVS", prSetNoNewPrivs, unix.PR_SET_NO_NEW_PRIVS},
		{"PR_CAP_AMBIENT", prCapAmbient, unix.PR_CAP_AMBIENT},
		{"PR_CAP_AMBIENT_CLEAR_ALL", prCapAmbientClearAll, unix.PR_CAP_AMBIENT_CLEAR_ALL},
		{"_LINUX_CAPABILITY_VERSION_3", capabilityVersion3, unix.LINUX_CAPABILITY_VERSION_3},
		{"struct open_how", uint64(unsafe.Sizeof(openHow{})), uint64(unsafe.Sizeof(unix.OpenHow{}))},
		{"struct mount_attr", uint64(unsafe.Sizeof(mountAttr{})), uint64(unsafe.Sizeof(unix.MountAttr{}))},
		{"struct __user_cap_header_struct", uint64(unsafe.Sizeof(capHeader{})), uint64(unsafe.Sizeof(unix.CapUserHeader{}))},
		{"struct __user_cap_data_struct", uint64(unsafe.Sizeof(capData{})), uint64(unsafe.Sizeof(unix.CapUserData{}))},
	} {
		if c.got != c.want {
			t.Errorf("%s = %#x, want %#x", c.name, c.got, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{formatDecimal(0), "0"},
		{formatDecimal(-1205), "-1205"},
		{formatDecimal(1 << 40), "1099511627776"},
		{formatOctal(0o1777), "01777"},
		{formatOctal(0o700), "00700"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
	for path, want := range map[string][2]string{
		"/": {"/", ""}, "/usr": {"/", "usr"}, "/a/b/c": {"/a/b", "c"}, "": {"/", ""},
	} {
		if dir, name := splitPath(path); dir != want[0] || name != want[1] {
			t.Errorf("split(%q) = %q, %q, want %q", path, dir, name, want)
		}
	}
	for text, want := range map[string]int{"": -1, "0": 0, "3128": 3128, "-1": -1, "1x": -1, "99999999999999999999": -1, "4194304": 4194304} {
		if got := parseNumber(text); got != want {
			t.Errorf("number(%q) = %d, want %d", text, got, want)
		}
	}
}

// The file of an init holds all of its code: what it does at the end is there.
func TestInitFileHoldsTheWholeInit(t *testing.T) {
	last := map[string][]byte{
		"amd64": {0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05}, // MOVL $231, AX; SYSCALL
		"arm64": {0x01, 0, 0, 0xd4},                // SVC
	}[runtime.GOARCH]
	file := initFile()
	if len(file) != initLen || !bytes.Contains(file[initCodeAt:], last) {
		t.Errorf("%d bytes without the last call of the init", len(file))
	}
}
