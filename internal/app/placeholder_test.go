package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
)

// TestAPlaceholderIsNoFileOfTheOperator: what keeps the name of a lock or a
// configuration free for the life of a child neither pins nor declares anything.
func TestAPlaceholderIsNoFileOfTheOperator(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{LockName, ConfigName} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(fsx.PlaceholderTime, 0)); err != nil {
			t.Fatal(err)
		}
	}
	lock := filepath.Join(dir, LockName)
	pins, err := ReadPins(&config.Config{Files: []string{"x"}, Dir: dir}, nil, HoldPins, nil)
	if err != nil || pins.File != nil {
		t.Errorf("ReadPins beside a placeholder = %v, %v; want no lock file", pins, err)
	}
	if sum, err := lockDigest(lock); sum != "" || err != nil {
		t.Errorf("lockDigest of a placeholder = %q, %v; want none", sum, err)
	}
	var own ownFiles
	own.findReplaced(nil)
	defer own.close()
	if found := own.findReplaced([]string{lock}); len(found) > 0 {
		t.Errorf("findReplaced of a placeholder = %q, want none", found)
	}
	if err := os.WriteFile(lock, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	own.findReplaced([]string{lock})
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if found := own.findReplaced([]string{lock}); len(found) != 1 {
		t.Errorf("findReplaced of a file that is gone = %q, want it: nothing covers its name", found)
	}
	env := &Environment{Dir: dir, Lookup: func(string) (string, bool) { return "", false }}
	if _, builtin, err := LoadConfig(env, nil); err != nil || !builtin {
		t.Errorf("LoadConfig beside a placeholder = %v, %v; want the built-in configuration", builtin, err)
	}
	if err := fsx.WriteNew(filepath.Join(dir, ConfigName), []byte("x")); err != nil {
		t.Errorf("WriteNew over a placeholder = %v", err)
	}
}
