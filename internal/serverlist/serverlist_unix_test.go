//go:build unix

package serverlist

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAServerIsListedWhileItRuns(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "servers")
	want := Entry{PID: 17, Dir: "/srv/project", Config: []string{"/srv/project/sallyport.yaml"}}
	remove, err := Add(folder, want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := List(folder)
	if diff := cmp.Diff([]Entry{want}, got, cmpopts.EquateComparable(netip.AddrPort{})); diff != "" || err != nil {
		t.Errorf("List() = %v, %v\n%s", got, err, diff)
	}
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	if got, err := List(folder); len(got) != 0 || err != nil {
		t.Errorf("List() after the end = %v, %v, want none", got, err)
	}
}

func TestWhatNoServerHoldsIsNotListed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	// t.TempDir may be readable by others, which is no harm.
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(folder, "9.json")
	if err := os.WriteFile(left, []byte(`{"pid":9,"dir":"/srv"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "8.json")); err != nil {
		t.Fatal(err)
	}
	if got, err := List(folder); len(got) != 0 || err != nil {
		t.Errorf("List() = %v, %v, want none", got, err)
	}
	if _, err := os.Lstat(left); !os.IsNotExist(err) {
		t.Errorf("the entry of an ended server is still there: %v", err)
	}
}

func TestAFolderThatOthersWriteIsNotBelieved(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "servers")
	remove, err := Add(folder, Entry{PID: 17, Dir: "/srv"})
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := List(folder); len(got) != 0 || err != nil {
		t.Errorf("List() = %v, %v, want none", got, err)
	}
	if _, err := Add(folder, Entry{PID: 18, Dir: "/srv"}); err == nil {
		t.Error("Add() takes a folder that others may write")
	}
}

func TestFolderOf(t *testing.T) {
	t.Parallel()
	state := func(v string) func(string) (string, bool) {
		return func(string) (string, bool) { return v, v != "" }
	}
	for _, tt := range []struct{ state, home, want string }{
		{"", "/home/ann", "/home/ann/.local/state/sallyport/servers"},
		{"/var/state", "/home/ann", "/var/state/sallyport/servers"},
		{"relative", "/home/ann", "/home/ann/.local/state/sallyport/servers"},
		{"", "", ""},
	} {
		if got := FolderOf(state(tt.state), tt.home); got != tt.want {
			t.Errorf("FolderOf(%q, %q) = %q, want %q", tt.state, tt.home, got, tt.want)
		}
	}
}
