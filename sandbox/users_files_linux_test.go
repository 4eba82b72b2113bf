package sandbox

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/hostuser"
)

// alice is a user of the host to whom files in reach belong.
const alice = 12345

// ownedPlace is a workplace of a child that has a user of its own, in a folder
// that its user alone could not enter.
func ownedPlace(t *testing.T, o *Options) *workplace {
	t.Helper()
	r := open(t, o)
	needUsers(t, r)
	w := workspace(t, r)
	if err := os.Chmod(filepath.Dir(w.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { checkNoLeftFiles(t, w.dir) })
	return w
}

// checkNoLeftFiles reports the files of users that only children have.
func checkNoLeftFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		if id := hostuser.First; int(st.Uid) >= id && int(st.Uid) < id+hostuser.Count || int(st.Gid) >= id && int(st.Gid) < id+hostuser.Count {
			t.Errorf("%s belongs to %d:%d on the disk", path, st.Uid, st.Gid)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func (w *workplace) chown(name string, uid, gid int, mode os.FileMode) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.Chown(path, uid, gid); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		w.t.Fatal(err)
	}
}

func TestA3_FilesOfOthersStayTheirs(t *testing.T) {
	t.Parallel()
	w := ownedPlace(t, &Options{Warm: -1})
	for name, mode := range map[string]os.FileMode{"readable": 0o644, "open": 0o666, "closed": 0o600} {
		w.write(name, "x")
		w.chown(name, alice, alice, mode)
	}
	if err := os.Mkdir(w.dir+"/team", 0o755); err != nil {
		t.Fatal(err)
	}
	w.chown("team", 0, alice, 0o775|os.ModeSetgid)
	w.write("mine", "x")
	got := w.sh(`cat readable; stat -c %u:%g readable mine
		(echo y >> readable) 2>/dev/null || echo kept; (echo y >> open) && echo written; cat closed 2>/dev/null || echo shut
		(chmod 777 readable) 2>/dev/null || echo owned; echo z > team/new; chmod 640 mine && echo mine`)
	if want := "x65534:65534\n1000:1000\nkept\nwritten\nshut\nowned\nmine\n"; got != want {
		t.Errorf("the child said %q, want %q", got, want)
	}
	for name, want := range map[string]string{"readable": "12345:12345", "open": "12345:12345", "team/new": "0:12345", "mine": "0:0"} {
		if got := onDisk(t, filepath.Join(w.dir, name)); got != want {
			t.Errorf("%s belongs to %s on the disk, want %s", name, got, want)
		}
	}
}

// A file that has the number of a child's user on the disk is not the child's.
func TestA3_AFileWithTheNumberOfTheUserIsNotItsOwn(t *testing.T) {
	t.Parallel()
	w := ownedPlace(t, &Options{Warm: -1})
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := w.start(context.Background(), sallyport.SpawnOptions{Input: in}, "sh", "-c", "read x; cat file || echo shut; stat -c %u file")
	w.write("file", "SECRET")
	host, err := os.Stat(fmt.Sprintf("/proc/%d", c.(*childProcess).proc.Pid))
	if err != nil {
		t.Fatal(err)
	}
	id := int(host.Sys().(*syscall.Stat_t).Uid)
	w.chown("file", id, id, 0o600)
	if _, err := hold.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	hold.Close()
	if got := string(w.wait(c).Stdout); got != "shut\n65534\n" {
		t.Errorf("of a file of user %d the child said %q", id, got)
	}
	w.chown("file", 0, 0, 0o600)
}

func TestA3_GitWorksInARepositoryOfRoot(t *testing.T) {
	t.Parallel()
	installed(t, "git")
	w := ownedPlace(t, &Options{Warm: -1})
	w.write("repo/a", "a")
	cmd := exec.Command("sh", "-c", "git init -q . && git add a && git -c user.name=r -c user.email=r@e commit -qm one")
	cmd.Dir = w.dir + "/repo"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := w.sh(`cd repo && git status --porcelain && echo b > b && git add b && git -c user.name=c -c user.email=c@e commit -qm two && git log --format=%s`)
	if got != "two\none\n" {
		t.Errorf("git said %q", got)
	}
	if out, err := exec.Command("git", "-C", w.dir+"/repo", "fsck", "--strict").CombinedOutput(); err != nil {
		t.Errorf("git fsck of root: %v: %s", err, out)
	}
}

func TestA3_TheStreamsOpenByName(t *testing.T) {
	t.Parallel()
	w := ownedPlace(t, &Options{Warm: -1})
	res := w.run(sallyport.SpawnOptions{Stdin: []byte("in")}, "sh", "-c", "cat /dev/stdin > /dev/stdout; echo err > /dev/stderr; echo null > /dev/null")
	if string(res.Stdout) != "in" || string(res.Stderr) != "err\n" || res.ExitCode != 0 {
		t.Errorf("exit %d, %q, %q", res.ExitCode, res.Stdout, res.Stderr)
	}
}

// Overlay mode and the caches of toolchains: what lies below is mapped, and the
// layer of the first as well.
func TestA3_LayersAreOfTheChildsUser(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, dir := range []string{"tool/bin", "cache/kept"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(home, "cache/kept/file")
	if err := os.WriteFile(secret, []byte("cached"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/tool/bin/it", []byte("#!/bin/sh\necho it runs\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := ownedPlace(t, &Options{Warm: -1, Toolchains: []Toolchain{{
		Dirs: []string{home + "/tool"}, Bin: []string{home + "/tool/bin"}, Caches: []Cache{{home + "/cache", "cache"}},
	}}})
	w.grant.FS.Mode = sallyport.FSOverlay
	w.write("private", "one")
	w.chown("private", 0, 0, 0o600)
	w.write("gone", "x")
	got := w.sh(`it; cd ~/cache/kept && cat file && echo new >> file && echo a > added && cd - > /dev/null
		echo two >> private && rm gone && mkdir d && echo x > d/made && cat private; ls -A / | grep detached; true`)
	if want := "it runs\ncachedonetwo\n"; got != want {
		t.Errorf("the child said %q, want %q", got, want)
	}
	for name, want := range map[string]string{w.dir + "/private": "onetwo\n", w.dir + "/d/made": "x\n", secret: "cached"} {
		if data, err := os.ReadFile(name); err != nil || string(data) != want {
			t.Errorf("%s holds %q, %v, want %q", name, data, err, want)
		}
	}
	if _, err := os.Stat(w.dir + "/gone"); err == nil {
		t.Error("what the child removed is there")
	}
	checkNoLeftFiles(t, home)
}

func TestA3_AccessListsAreMapped(t *testing.T) {
	t.Parallel()
	w := ownedPlace(t, &Options{Warm: -1})
	for name, user := range map[string]uint32{"lent": 0, "shut": alice} {
		w.write(name, "x")
		w.chown(name, alice, alice, 0o600)
		if err := unix.Setxattr(filepath.Join(w.dir, name), "system.posix_acl_access", accessList(user), 0); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.sh("cat lent; echo y >> lent && echo written; cat shut 2>/dev/null || echo shut"); got != "xwritten\nshut\n" {
		t.Errorf("the child said %q", got)
	}
}

// accessList lets the owner and one more user read and write, and no other user
// (posix_acl_xattr.h).
func accessList(user uint32) []byte {
	const owner, named, group, mask, other, none = 1, 2, 4, 16, 32, 1<<32 - 1
	list := []byte{2, 0, 0, 0}
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{owner, 6, none}, {named, 6, user}, {group, 0, none}, {mask, 6, none}, {other, 0, none}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}

// A capability of a file, which the mount would turn into one for this user's
// namespace, gives nothing.
func TestA3_CapabilitiesOfFilesGiveNothing(t *testing.T) {
	t.Parallel()
	w := ownedPlace(t, &Options{Warm: -1})
	if err := copyFile("/bin/cat", w.dir+"/cat"); err != nil {
		t.Fatal(err)
	}
	// vfs_cap_data of revision 2: permitted and effective, CAP_DAC_OVERRIDE.
	data := []byte{1, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	if err := unix.Setxattr(w.dir+"/cat", "security.capability", data, 0); err != nil {
		t.Skip(err)
	}
	w.grant.Process.ExecFrom = []string{w.dir}
	if got := w.sh("./cat /proc/self/status"); !strings.Contains(got, "CapEff:\t0000000000000000") {
		t.Errorf("the status is %s", got)
	}
}
