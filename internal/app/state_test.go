package app

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/config"
)

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
