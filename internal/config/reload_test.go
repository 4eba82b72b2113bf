package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReload walks through what a server sees: a file that is the same, is
// edited, is bad, is away, and is as before.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "version: 1\nactions: [{id: one}]\n")
	write(t, dir, "b.yaml", "version: 1\nlimits: memory\n")
	names := []string{"a.yaml", "b.yaml"}
	old, err := Load(names, &Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(when string, want bool, wantErr string) {
		t.Helper()
		digest, err := Fingerprint(old.Files)
		got := err == nil && digest != old.Digest
		if got != want || (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("Fingerprint %s differs = %t, %v, want %t, %q", when, got, err, want, wantErr)
		}
	}
	expect("after Load", false, "")

	// The new text is as long as the old one, and the time is the same: what
	// counts is what the file says.
	path := filepath.Join(dir, "a.yaml")
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "a.yaml", "version: 1\nactions: [{id: two}]\n")
	if err := os.Chtimes(path, st.ModTime(), st.ModTime()); err != nil {
		t.Fatal(err)
	}
	expect("after an edit", true, "")
	next, err := Load(names, &Options{Dir: dir})
	if err != nil || next.Actions[0].ID != "two" || old.Actions[0].ID != "one" {
		t.Fatalf("Load = %+v, %v, want the new action and the old configuration as it was", next, err)
	}

	write(t, dir, "a.yaml", "version: 1\nactions: [{id: three}, {}]\n")
	expect("after a bad edit", true, "")
	if c, err := Load(names, &Options{Dir: dir}); c != nil || err == nil {
		t.Errorf("Load of a bad file = %v, %v, want faults alone", c, err)
	}
	if diff := cmp.Diff("one", old.Actions[0].ID); diff != "" {
		t.Errorf("the old configuration differs (-want +got):\n%s", diff)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect("without the file", false, "a.yaml: cannot be read: no such file")
	write(t, dir, "a.yaml", "version: 1\nactions: [{id: one}]\n")
	expect("with the old text", false, "")
}

func TestFingerprintBoundsTheFiles(t *testing.T) {
	if _, err := Fingerprint(nil); err == nil {
		t.Error("Fingerprint of no files succeeded, want an error")
	}
	if _, err := Fingerprint(make([]string, maxFiles+1)); err == nil {
		t.Error("Fingerprint of too many files succeeded, want an error")
	}
}
