package fsx_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/fsx"
)

func TestReplaceFileKeepsTheMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := fsx.ReplaceFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a new file has mode %v (%v), want one for its owner alone", info.Mode(), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := fsx.ReplaceFile(path, []byte("other")); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if info, statErr := os.Stat(path); err != nil || statErr != nil || string(got) != "other" || info.Mode().Perm() != 0o640 {
		t.Errorf("the file is %q with mode %v (%v), want the new text in the old mode", got, info.Mode(), err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("the folder has %d files (%v), want the file alone", len(list), err)
	}
}

func TestWriteNewLeavesAFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := fsx.WriteNew(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := fsx.WriteNew(path, []byte("second")); err == nil || err.Error() != path+" exists: it was left as it is" {
		t.Errorf("WriteNew over a file = %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "first" {
		t.Errorf("the file is %q (%v), want the first text", got, err)
	}
}

func TestReasonNamesNoPath(t *testing.T) {
	_, err := os.Open(filepath.Join(t.TempDir(), "secret-name"))
	if got := fsx.Reason(err); got != "no such file or directory" {
		t.Errorf("Reason = %q", got)
	}
}

func TestFilesWithLongNamesAreReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("é", 120)+".json")
	for _, text := range []string{"one", "two"} {
		if err := fsx.ReplaceFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("the file holds %q, %v, want %q", got, err, text)
		}
	}
}
