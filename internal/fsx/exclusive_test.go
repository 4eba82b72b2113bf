package fsx_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/internal/fsx"
)

// TestExclusive counts in a file: a count is lost when two do it at once.
func TestExclusive(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no waiting there")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "count")
	if err := os.WriteFile(path, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	const all = 50
	var wg sync.WaitGroup
	for range all {
		wg.Go(func() {
			if err := fsx.Exclusive(dir, func() error {
				text, err := os.ReadFile(path)
				n, bad := strconv.Atoi(string(text))
				runtime.Gosched()
				return errors.Join(err, bad, os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600))
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if text, err := os.ReadFile(path); err != nil || string(text) != strconv.Itoa(all) {
		t.Errorf("counted %s (%v), want %d", text, err, all)
	}
	if err := fsx.Exclusive(filepath.Join(dir, "none"), func() error { return nil }); err == nil {
		t.Error("a folder that is not there is held")
	}
}
