package secrets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func openDir(t *testing.T, files map[string]string) (*Dir, string) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		writeSecret(t, folder, name, content, 0o600)
	}
	d, err := OpenDir(folder)
	if err != nil {
		t.Fatalf("OpenDir = %v", err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, folder
}

func writeSecret(t *testing.T, folder, name, content string, mode os.FileMode) {
	t.Helper()
	file := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
}

func TestDirSecret(t *testing.T) {
	d, folder := openDir(t, map[string]string{
		"providers/exa/apiKey": "correct horse\n", "windows": "correct horse\r\n", "lines": "correct\n\n",
		"bare": "correct horse", "short": "1234567\n", "largest": strings.Repeat("x", 64<<10),
		"larger": strings.Repeat("x", 64<<10+1),
	})
	tests := []struct {
		name    string
		ref     string
		want    string
		wantErr string
	}{
		{name: "one newline goes", ref: "providers/exa/apiKey", want: "correct horse"},
		{name: "carriage return too", ref: "windows", want: "correct horse"},
		{name: "one only", ref: "lines", want: "correct\n"},
		{name: "no newline", ref: "bare", want: "correct horse"},
		{name: "at the limit", ref: "largest", want: strings.Repeat("x", 64<<10)},
		{name: "over the limit", ref: "larger", wantErr: "larger than 65536 bytes"},
		{name: "short after trimming", ref: "short", wantErr: "secret short is refused: its value has fewer than 8 bytes"},
		{name: "absent", ref: "providers/exa/other"},
		{name: "below a file", ref: "bare/other"},
		{name: "directory", ref: "providers/exa", wantErr: "not a regular file"},
		{name: "two dots", ref: "../" + filepath.Base(folder) + "/bare", wantErr: "segment"},
		{name: "absolute", ref: filepath.Join(folder, "bare"), wantErr: "absolute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok, err := d.Secret(t.Context(), tt.ref)
			if tt.wantErr != "" {
				if err == nil || ok || !strings.Contains(err.Error(), tt.wantErr) || strings.Contains(err.Error(), "1234567") {
					t.Errorf("Secret(%q) = %t, %v, want an error with %q and without the value", tt.ref, ok, err, tt.wantErr)
				}
				return
			}
			if err != nil || ok != (tt.want != "") || got.Reveal() != tt.want {
				t.Errorf("Secret(%q) = %q, %t, %v, want %q", tt.ref, got.Reveal(), ok, err, tt.want)
			}
		})
	}
}

func TestDirFollowsLinksInsideOnly(t *testing.T) {
	d, folder := openDir(t, map[string]string{"..2026/apiKey": "correct horse"})
	outside := t.TempDir()
	writeSecret(t, outside, "secret", "outside value", 0o600)
	links := map[string]string{"..data": "..2026", "apiKey": "..data/apiKey", "escape": filepath.Join(outside, "secret"), "up": "../" + filepath.Base(outside)}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok, err := d.Secret(t.Context(), "apiKey"); err != nil || !ok || got.Reveal() != "correct horse" {
		t.Errorf("Secret(apiKey) through links inside = %q, %t, %v, want the value", got.Reveal(), ok, err)
	}
	for _, ref := range []string{"escape", "up/secret"} {
		if got, ok, _ := d.Secret(t.Context(), ref); ok {
			t.Errorf("Secret(%s) = %q, want a refusal: the link leads out", ref, got.Reveal())
		}
	}
	if d := cmp.Diff([]string{"correct horse"}, known(t, d)); d != "" {
		t.Errorf("Known (-want +got):\n%s", d)
	}
}

func TestDirKnownListsWhatCanBeHandedOut(t *testing.T) {
	d, _ := openDir(t, map[string]string{"a/b": "first value\n", "c": "second value", "short": "x", "large": strings.Repeat("x", 64<<10+1)})
	if d := cmp.Diff([]string{"first value", "second value"}, known(t, d)); d != "" {
		t.Errorf("Known (-want +got):\n%s", d)
	}
}

func TestDirThatIsNotThere(t *testing.T) {
	if _, err := OpenDir(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("OpenDir of a missing folder = nil error, want a refusal")
	}
	d, _ := openDir(t, nil)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Known(t.Context()); err == nil {
		t.Error("Known of a closed directory = nil error: values might pass unseen")
	}
}

func TestDirKnownIsBounded(t *testing.T) {
	d, _ := openDir(t, map[string]string{"a": "first value", "b/c": "second value", "d": "third value"})
	d.most = 2
	if _, err := d.Known(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 2 files") {
		t.Errorf("Known of three files = %v, want an error", err)
	}
	d.most = 3
	if got := known(t, d); len(got) != 3 {
		t.Errorf("Known at the bound = %d values, want three", len(got))
	}
	d.listed = time.Time{}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Known(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("Known with a cancelled context = %v, want context.Canceled", err)
	}
}

func TestDirKnownSeesARotation(t *testing.T) {
	d, folder := openDir(t, map[string]string{"a": "first value"})
	synctest.Test(t, func(t *testing.T) {
		_ = known(t, d)
		writeSecret(t, folder, "a", "other value", 0o600)
		time.Sleep(knownFor)
		if got := known(t, d); !slices.Equal(got, []string{"other value"}) {
			t.Errorf("Known after a rotation = %q, want the new value", got)
		}
	})
}

func TestDirKnownFollowsChanges(t *testing.T) {
	d, folder := openDir(t, map[string]string{"a": "first value"})
	synctest.Test(t, func(t *testing.T) {
		before := known(t, d)
		writeSecret(t, folder, "b", "second value", 0o600)
		writeSecret(t, folder, "c", "third value", 0o600)
		if _, ok, err := d.Secret(t.Context(), "b"); !ok || err != nil {
			t.Fatalf("Secret(b) = %t, %v, want the value", ok, err)
		}
		if got := known(t, d); !slices.Equal(got, append(before, "second value")) {
			t.Errorf("Known after Secret(b) = %q, want the value that was handed out added", got)
		}
		time.Sleep(knownFor)
		if got := known(t, d); !slices.Equal(got, []string{"first value", "second value", "third value"}) {
			t.Errorf("Known a second later = %q, want all three", got)
		}
		one, _ := d.Known(t.Context())
		time.Sleep(knownFor)
		two, _ := d.Known(t.Context())
		if !sameSlice(one, two) {
			t.Error("Known returns another slice although nothing changed")
		}
	})
}

func TestDirConcurrently(t *testing.T) {
	d, _ := openDir(t, map[string]string{"a": "first value", "b": "second value"})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, ref := range []string{"a", "b", "c"} {
				_, _, _ = d.Secret(t.Context(), ref)
				_, _ = d.Known(t.Context())
			}
		})
	}
	wg.Wait()
}

func FuzzDirRef(f *testing.F) {
	for _, ref := range []string{"inside", "../outside", "link", "link/outside", "/etc/passwd", "a/../../outside", "inside/", "."} {
		f.Add(ref)
	}
	parent := f.TempDir()
	folder := filepath.Join(parent, "secrets")
	for name, content := range map[string]string{"outside": "outside value", "secrets/inside": "inside value"} {
		file := filepath.Join(parent, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Symlink("..", filepath.Join(folder, "link")); err != nil {
		f.Fatal(err)
	}
	d, err := OpenDir(folder)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = d.Close() })
	f.Fuzz(func(t *testing.T, ref string) {
		got, ok, err := d.Secret(t.Context(), ref)
		if ok && (ref != "inside" || got.Reveal() != "inside value") {
			t.Fatalf("Secret(%q) = %q, want nothing but the file inside", ref, got.Reveal())
		}
		if err != nil && strings.Contains(err.Error(), "value") {
			t.Fatalf("Secret(%q) error %q contains a value", ref, err)
		}
	})
}
