package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestAnImportOnAFullDiskIsWhole runs imports in a project on a small disk, from one on
// which no state has room to one that suffices. Each has taken over the server or
// changed nothing.
func TestAnImportOnAFullDiskIsWhole(t *testing.T) {
	t.Parallel()
	source := importFolder(t)
	seen := map[string]bool{}
	sizes := []int{16, 64, 256, 4096} // KiB
	if needs.Long() {
		sizes = []int{16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 192, 256, 320, 384, 448, 512, 640, 4096}
	}
	for _, kilobytes := range sizes {
		disk, kept := t.TempDir(), t.TempDir()
		script := `mount -t tmpfs -o size=` + strconv.Itoa(kilobytes) + `k none "$1" || exit 9
			cp "$2/server.py" "$1" && sed "s,$2,$1," "$2/.mcp.json" >"$1/.mcp.json" || exit 8
			cd "$1"
			sallyport import claude-code --yes; code=$?
			sallyport explain read_file --path server.py >/dev/null 2>&1
			for file in .mcp.json .gitignore sallyport.yaml sallyport.lock; do ! test -e $file || cp $file "$3"; done
			exit $code`
		cmd := exec.CommandContext(t.Context(), "unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", disk, source, kept)
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(kept, "home"))
		if err := os.Mkdir(filepath.Join(kept, "home"), 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code == 9 {
			if os.Getenv("CI") == "true" {
				t.Fatalf("no small disk can be mounted: %s", out)
			}
			t.Skipf("no small disk can be mounted: %s", out)
		} else if code == 8 {
			continue // the client's file has no room
		}
		state := importedState(t, kept)
		seen[state] = true
		if state != "before" && state != "after" || (err == nil) != (state == "after") && !strings.Contains(string(out), "nothing to import") {
			t.Errorf("with %d KiB: %v, %s\n%s", kilobytes, err, state, out)
		}
	}
	if !seen["before"] || !seen["after"] {
		t.Errorf("the imports left %v, want both", seen)
	}
}
