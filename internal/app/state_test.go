package app

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/config"
)

// TestARecordOfOthersIsNotOpened has a folder of the record that others may read, or
// that is a link.
func TestARecordOfOthersIsNotOpened(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the mode of a file says nothing here")
	}
	s := config.State{Kind: config.StateSQLite, Path: filepath.Join(t.TempDir(), "state.db")}
	wantOpen := func(want string) {
		t.Helper()
		state, err := openState(t.Context(), s, nil)
		if err == nil {
			err = state.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("open: %v, want %q", err, want)
		}
	}
	folder := s.Path + "-log"
	wantOpen("")
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	wantOpen("chmod 700")
	if err := errors.Join(os.Chmod(folder, 0o700), os.Rename(folder, folder+".moved"), os.Symlink(folder+".moved", folder)); err != nil {
		t.Fatal(err)
	}
	wantOpen("damaged")
}

// TestAStateOfOthersIsNotOpened has a state file as git writes what a repository holds.
func TestAStateOfOthersIsNotOpened(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the mode of a file says nothing here")
	}
	s := config.State{Kind: config.StateSQLite, Path: filepath.Join(t.TempDir(), "state.db")}
	for _, tt := range []struct {
		mode os.FileMode
		want bool
	}{{0, true}, {0o600, true}, {0o660, true}, {0o644, false}, {0o602, false}} {
		if tt.mode != 0 {
			if err := os.Chmod(s.Path, tt.mode); err != nil {
				t.Fatal(err)
			}
		}
		state, err := openState(t.Context(), s, nil)
		if tt.want != (err == nil) || err != nil && !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a state of mode %#o: %v, want it opened %v", tt.mode, err, tt.want)
		}
		if err == nil {
			if err := state.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
