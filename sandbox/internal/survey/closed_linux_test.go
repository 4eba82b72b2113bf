package survey

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport/internal/denyfloor"
)

// nobody is an unprivileged user.
const nobody = 65534

// asNobody runs the calling test again as an unprivileged user, and reports
// whether this is that run or the user is unprivileged anyway.
func asNobody(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	// The folder of the test binary is closed to others.
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	bin := filepath.Join(dir, "again.test")
	must(t, os.WriteFile(bin, data, 0o755))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME=/nonexistent", "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as uid %d: %v\n%s", nobody, err, out)
	}
	return false
}

func TestADirectoryThatCannotBeListedIsMaskedWhenItCanBeEntered(t *testing.T) {
	if !asNobody(t) {
		return
	}
	top := plant(t, "ws/through/.ssh/k", "ws/shut/.ssh/k", "ws/.netrc", "solo/x")
	for dir, mode := range map[string]os.FileMode{"ws/through": 0o311, "ws/shut": 0, "solo": 0o300} {
		must(t, os.Chmod(filepath.Join(top, dir), mode))
		defer os.Chmod(filepath.Join(top, dir), 0o700)
	}
	tests := []struct {
		name        string
		read, write []string
		want        []string
	}{
		// No process can get into ws/shut while its mode cannot be changed.
		{name: "read", read: []string{"ws"}, want: []string{"f ws/.netrc", "d ws/through"}},
		{name: "write", write: []string{"ws"}, want: []string{"f ws/.netrc", "d ws/shut", "d ws/through"}},
		{name: "the reach itself", read: []string{"solo"}, want: []string{"d solo"}},
	}
	for _, tt := range tests {
		got, err := New().Floor(t.Context(), denyfloor.New(nil), joinAll(top, tt.read), joinAll(top, tt.write))
		must(t, err)
		if diff := cmp.Diff(tt.want, summarizeMasks(top, got), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: Floor() (-want +got):\n%s", tt.name, diff)
		}
	}
	_, err := New().Floor(t.Context(), denyfloor.New(nil), joinAll(top, []string{"ws", "ws/through/.ssh"}), nil)
	if err == nil || !strings.Contains(err.Error(), "cannot be listed, so that nothing in it can be judged and contains") {
		t.Errorf("a part of the reach behind a closed door: Floor() = %v", err)
	}
	if _, more := New().Changed(t.Context(), joinAll(top, []string{"ws"}), time.Now().Add(time.Hour), 10); !more {
		t.Error("Changed() does not say that it could not see everything")
	}
}
