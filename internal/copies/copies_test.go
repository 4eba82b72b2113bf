package copies_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/copies"
)

// TestAChangedFileIsWholeAtAnyTime reads a file while it is replaced: an
// interruption leaves the old text or the new one.
func TestAChangedFileIsWholeAtAnyTime(t *testing.T) {
	path, folder := filepath.Join(t.TempDir(), "mcp.json"), copies.FolderOf(t.TempDir())
	texts := []string{strings.Repeat("a", 200_000), strings.Repeat("b", 300_000)}
	if err := os.WriteFile(path, []byte(texts[0]), 0o640); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		for i := range 40 {
			old, text := texts[i%2], texts[(i+1)%2]
			if _, err := folder.ChangeFile(path, []byte(old), []byte(text), time.Unix(int64(i), 0)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for reading := true; reading; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			reading = false
		default:
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != texts[0] && string(got) != texts[1] {
			t.Fatalf("the file has %d bytes (%v), want one of the texts", len(got), err)
		}
	}
	list := folder.ListOf(path)
	if len(list) != 40 {
		t.Fatalf("%d copies, want 40", len(list))
	}
	if got, err := os.ReadFile(list[0]); err != nil || string(got) != texts[1] {
		t.Errorf("the newest copy is not what was there before the last change: %v", err)
	}
	if info, err := os.Stat(list[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy has mode %v (%v), want one for its user alone", info.Mode(), err)
	}
}

func TestAFileThatHasChangedIsLeftAlone(t *testing.T) {
	path, folder := filepath.Join(t.TempDir(), "mcp.json"), copies.FolderOf(t.TempDir())
	if err := os.WriteFile(path, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := folder.ChangeFile(path, []byte("old"), []byte("ours"), time.Now()); err == nil || !strings.Contains(err.Error(), "was changed while it was read") {
		t.Errorf("ChangeFile = %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "new" || len(folder.ListOf(path)) != 0 {
		t.Errorf("the file is %q with copies %v, want it left alone", got, folder.ListOf(path))
	}
}
