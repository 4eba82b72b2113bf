package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestA3_AProgramThatOthersCannotExecuteIsNamed: without it children would share
// root for a reason that nothing says.
func TestA3_AProgramThatOthersCannotExecuteIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[os.FileMode]string{0o755: "", 0o555: "", 0o700: "mode 0700", 0o750: "mode 0750"} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		err := checkProgram(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("checkProgram(%04o) = %v, want %q", mode, err, want)
		}
	}
}
