package machine

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the profiles below packaging")

// TestPackagingHoldsTheProfiles compares the files for people who have a clone
// with those in the program.
func TestPackagingHoldsTheProfiles(t *testing.T) {
	for kind, path := range map[string]string{"apparmor": "../../packaging/apparmor/sallyport", "seccomp": "../../packaging/seccomp/sallyport.json"} {
		want, err := Profile(kind)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
			t.Errorf("%s is not the profile of the program (%v): run go generate ./internal/machine", path, err)
		}
	}
	if _, err := Profile("selinux"); err == nil {
		t.Error("Profile(selinux) succeeded, want an error")
	}
}
