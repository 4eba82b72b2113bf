package pending_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/digest"
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
		{Path: path, Mode: 0o644, Content: []byte("new\n"), Was: digest.Text("old\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = s.Get(id); err != nil {
		t.Fatal(err)
	}
	return s, b, path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestApplyWritesWhatWasShown(t *testing.T) {
	s, b, path := waiting(t)
	if text, err := b.Difference(); err != nil || !strings.Contains(text, "-old\n+new\n") {
		t.Errorf("Difference() = %q, %v", text, err)
	}
	if err := s.Apply(b); err != nil || read(t, path) != "new\n" {
		t.Errorf("Apply() = %v, the file is %q", err, read(t, path))
	}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("List() = %v, %v, want nothing", list, err)
	}
	if err := s.Drop(b.ID); !errors.Is(err, pending.ErrNone) {
		t.Errorf("Drop() = %v of what was applied, want ErrNone", err)
	}
}

func TestA7_ApplyLeavesWhatWasChangedSince(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"another content": func(path string) error { return os.WriteFile(path, []byte("a person's\n"), 0o644) },
		"removed":         os.Remove,
		"a link": func(path string) error {
			return errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		},
		"a folder that is a link": func(path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Rename(dir, dir+".real"), os.Symlink(dir+".real", dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, b, path := waiting(t)
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			if err := s.Apply(b); !errors.Is(err, pending.ErrChanged) {
				t.Errorf("Apply() = %v, want ErrChanged", err)
			}
			if data, err := os.ReadFile(path); err == nil && string(data) == "new\n" {
				t.Error("the file was written")
			}
			if list, err := s.List(); err != nil || len(list) != 1 {
				t.Errorf("List() = %v, %v, want the change to wait on", list, err)
			}
		})
	}
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
