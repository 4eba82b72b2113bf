package survey

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"
)

// after waits until the change time of a new file is later than all those in
// the past, as Changed sees it, and returns that moment.
func after(t *testing.T) time.Time {
	t.Helper()
	dir := t.TempDir()
	var first time.Time
	for i := 0; ; i++ {
		p := filepath.Join(dir, fmt.Sprint(i))
		must(t, os.WriteFile(p, nil, 0o600))
		var st unix.Stat_t
		must(t, unix.Lstat(p, &st))
		at := time.Unix(st.Ctim.Unix())
		if first.IsZero() {
			first = at
		}
		if at.Sub(first) > 2*clockTick {
			return at
		}
	}
}

func TestChangedFindsChanges(t *testing.T) {
	top := plant(t, "ws/old", "ws/kept", "ws/gone", "ws/dir/deep/file", "ws/quiet/gone", "ws/quiet/kept",
		"ws/link -> ../other", "other/secret", "ws/moved", "ws/mode", "ws/removed/")
	since := after(t)
	must(t, os.WriteFile(filepath.Join(top, "ws/old"), []byte("changed"), 0o600))
	must(t, os.WriteFile(filepath.Join(top, "ws/dir/deep/new"), nil, 0o600))
	must(t, os.Remove(filepath.Join(top, "ws/quiet/gone")))
	must(t, os.Chmod(filepath.Join(top, "ws/mode"), 0o700))
	must(t, os.Mkdir(filepath.Join(top, "ws/dir/empty"), 0o700))
	must(t, os.WriteFile(filepath.Join(top, "other/secret"), nil, 0o600))
	must(t, os.Symlink("nowhere", filepath.Join(top, "ws/dir/deep/dangling")))

	got, more := New().Changed(t.Context(), joinAll(top, []string{"ws", "ws/dir", "missing", "ws/old"}), since, 100)
	want := joinAll(top, []string{"ws/dir/deep/dangling", "ws/dir/deep/new", "ws/dir/empty", "ws/mode", "ws/old", "ws/quiet"})
	if diff := cmp.Diff(want, got); diff != "" || more {
		t.Errorf("Changed() more=%v (-want +got):\n%s", more, diff)
	}
	got, more = New().Changed(t.Context(), joinAll(top, []string{"ws"}), since, 2)
	if len(got) != 2 || !more {
		t.Errorf("Changed() with limit 2 = %v, %v", got, more)
	}
}

func TestChangedFindsNothingInAQuietTree(t *testing.T) {
	top := plant(t, "ws/a", "ws/b/c")
	got, more := New().Changed(t.Context(), joinAll(top, []string{"ws"}), after(t), 10)
	if diff := cmp.Diff([]string{}, got, cmpopts.EquateEmpty()); diff != "" || more {
		t.Errorf("Changed() more=%v:\n%s", more, diff)
	}
}

func TestChangedReportsTheRootItself(t *testing.T) {
	top := plant(t, "ws/a", "file")
	since := after(t)
	must(t, os.Remove(filepath.Join(top, "ws/a")))
	must(t, os.Chmod(filepath.Join(top, "file"), 0o600))
	got, _ := New().Changed(t.Context(), joinAll(top, []string{"ws", "file"}), since, 10)
	if diff := cmp.Diff(joinAll(top, []string{"file", "ws"}), got); diff != "" {
		t.Errorf("Changed() (-want +got):\n%s", diff)
	}
}
