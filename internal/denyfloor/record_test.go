package denyfloor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport"
)

// TestTheRecordIsOnTheFloorUnderEveryName has a second name of a segment.
func TestTheRecordIsOnTheFloorUnderEveryName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "state.db")
	segment, link := filepath.Join(state+"-log", "00000001"), filepath.Join(dir, "link")
	if err := os.Mkdir(state+"-log", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(segment, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(segment, link); err != nil {
		t.Fatal(err)
	}
	d := New(&sallyport.FileBackend{Deny: []string{state}})
	info, err := os.Stat(link)
	if err != nil {
		t.Fatal(err)
	}
	if _, denied := d.CheckIdentity(info); !denied {
		t.Error("a second name of a segment is not denied")
	}
	for _, path := range []string{segment, state + "-log"} {
		if _, denied := d.Check("read", path); !denied {
			t.Errorf("%s is not denied", path)
		}
	}
}
