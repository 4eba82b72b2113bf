package pending_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/pending"
)

// waiting keeps a change of a file from old to new, and returns both.
func waiting(t *testing.T) (s pending.Store, b *pending.Batch, path string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "ws", ".vscode", "tasks.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("old\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	s = pending.Store{Dir: filepath.Join(dir, "pending")}
	id, err := s.Add(pending.Batch{Time: time.Now(), Binary: "sh", Files: []pending.File{
		{Path: path, Mode: 0o644, Content: []byte("new\n"), Was: pending.Digest([]byte("old\n"))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = s.Get(id); err != nil {
		t.Fatal(err)
	}
	return s, b, path
}

func TestAddIsBounded(t *testing.T) {
	s, b, _ := waiting(t)
	for range pending.MaxBatches - 1 {
		if _, err := s.Add(*b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Add(*b); err == nil || !strings.Contains(err.Error(), "100 changes wait already") {
		t.Errorf("Add() = %v beyond the bound", err)
	}
	if _, err := (pending.Store{}).Add(*b); err == nil {
		t.Error("a store without a folder takes a change")
	}
}
