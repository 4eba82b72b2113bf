package scratch

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestMain is also the process that is killed.
func TestMain(m *testing.M) {
	if base := os.Getenv("SCRATCH_VICTIM"); base != "" {
		dir, err := New(base).Dir("victim")
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, "closed", "inner"), 0o700)
		}
		if err == nil {
			err = os.Chmod(filepath.Join(dir, "closed"), 0)
		}
		fmt.Println(dir, err)
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func list(t *testing.T, base string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestA9_WhatAKilledProcessLeftIsSwept(t *testing.T) {
	base := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SCRATCH_VICTIM="+base)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	// Others of the folder stay, whatever they are called.
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sallyport-x", "other"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(base, prefix+"link")); err != nil {
		t.Fatal(err)
	}
	living := New(base)
	dir, err := living.Dir("living")
	if err != nil {
		t.Fatal(err)
	}
	if err := Sweep(base); err != nil || len(list(t, base)) != 5 {
		t.Errorf("Sweep while both live = %v, left %v, want all", err, list(t, base))
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := Sweep(base); err != nil || len(list(t, base)) != 4 {
		t.Errorf("Sweep after the kill = %v, left %v, want all but the killed one's", err, list(t, base))
	}
	for _, path := range []string{dir, outside} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("swept: %v", err)
		}
	}
	if err := living.Close(); err != nil || len(list(t, base)) != 3 {
		t.Errorf("Close = %v, left %v", err, list(t, base))
	}
}

func TestA9_AYoungSpaceWithoutALockStays(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, fresh+"1")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(base); err != nil || len(list(t, base)) != 1 {
		t.Errorf("Sweep = %v, left %v", err, list(t, base))
	}
	old := time.Now().Add(-2 * freshAge)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(base); err != nil || len(list(t, base)) != 0 {
		t.Errorf("Sweep = %v, left %v", err, list(t, base))
	}
}
