package survey

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport/internal/denyfloor"
)

func TestFloorMasksMountsThatHoldNoFiles(t *testing.T) {
	top := plant(t, "ws/jail/proc/1/environ", "ws/jail/proc/.ssh/k", "ws/data/.netrc", "ws/ns", "in/sys/x", "in/sys/disk/y")
	s := New()
	at := func(name string, files bool) MountPoint {
		return MountPoint{Path: filepath.Join(top, name), files: files}
	}
	s.mounts = func() ([]MountPoint, error) {
		return []MountPoint{
			{Path: "/", files: true},
			at("ws/jail/proc", false), at("ws/data", true), at("ws/ns", false), at("ws/hidden", false),
			at("in/sys", false), at("in/sys/disk", true), at("elsewhere", false),
		}, nil
	}
	tests := []struct{ read, write, want []string }{
		{[]string{"ws"}, nil, []string{"f ws/data/.netrc", "d ws/jail/proc", "f ws/ns"}},
		{nil, []string{"ws"}, []string{"f ws/data/.netrc", "d ws/jail/proc", "f ws/ns"}},
		{[]string{"in/sys", "ws/jail/proc/1/environ"}, nil, []string{"d in/sys", "f ws/jail/proc/1/environ"}},
		{[]string{"in/sys/x", "in/sys/disk"}, nil, []string{"f in/sys/x"}},
	}
	for _, tt := range tests {
		got, err := s.Floor(t.Context(), denyfloor.New(nil), joinAll(top, tt.read), joinAll(top, tt.write))
		must(t, err)
		if diff := cmp.Diff(tt.want, summarizeMasks(top, got), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("Floor(%v, %v) (-want +got):\n%s", tt.read, tt.write, diff)
		}
	}
	s.mounts = func() ([]MountPoint, error) { return nil, errors.New("no mounts") }
	if _, err := s.Floor(t.Context(), denyfloor.New(nil), joinAll(top, []string{"ws"}), nil); err == nil {
		t.Error("Floor() without knowing the mounts = nil")
	}
}

func TestParseMounts(t *testing.T) {
	got, err := parseMounts(`22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw
28 27 0:25 / /a\040b\134c\x ro - fuse.sshfs me@host ro
29 27 0:26 / /sys/fs/fuse rw - fusectl none rw
30 27 0:27 / /new rw - something none rw
`)
	must(t, err)
	want := []MountPoint{
		{22, "/proc", false}, {27, "/", true}, {28, `/a b\c\x`, true}, {29, "/sys/fs/fuse", false}, {30, "/new", false},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(MountPoint{})); diff != "" {
		t.Errorf("parseMounts() (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"x", "1 2 3 / /a rw shared:1 ext4 x rw", "1 2 3 / /a - ext4 x", "1 2 3 / /a rw - "} {
		if _, err := parseMounts(bad); err == nil {
			t.Errorf("parseMounts(%q) = nil", bad)
		}
	}
	if mounts, err := MountPoints(); err != nil || len(mounts) == 0 {
		t.Errorf("MountPoints() = %v, %v", mounts, err)
	}
}
