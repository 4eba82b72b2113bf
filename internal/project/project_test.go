package project_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/project"
)

const added = "# The state of sallyport and its key: not for others.\n.sallyport/\n"

func TestIgnoreKeepsWhatThereIs(t *testing.T) {
	for _, tt := range []struct{ name, have, want string }{
		{"empty", "", added},
		{"other lines", "node_modules\n\n*.log\n", "node_modules\n\n*.log\n\n" + added},
		{"no line end", "dist", "dist\n\n" + added},
		{"Windows line ends", "a\r\nb\r\n", "a\r\nb\r\n\r\n" + strings.ReplaceAll(added, "\n", "\r\n")},
		{"not UTF-8", "\xff\xfe\x00\n", "\xff\xfe\x00\n\n" + added},
		{"there already", ".sallyport/\n", ".sallyport/\n"},
		{"there in another form", "a\n/.sallyport/*\n", "a\n/.sallyport/*\n"},
		{"anywhere below", "**/.sallyport", "**/.sallyport"},
		{"with spaces", ".sallyport/  \r\n", ".sallyport/  \r\n"},
		{"wanted by a person", "!.sallyport/\n", "!.sallyport/\n"},
		{"a longer name", ".sallyport.bak\nx/.sallyport\n", ".sallyport.bak\nx/.sallyport\n\n" + added},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, ".gitignore")
			if tt.name != "empty" {
				writeFile(t, path, tt.have)
				if err := os.Chmod(path, 0o640); err != nil {
					t.Fatal(err)
				}
			}
			s, err := project.Start(filepath.Join(dir, "sallyport.yaml"), "balanced")
			if err != nil {
				t.Fatal(err)
			}
			if got := readFile(t, path); got != tt.want {
				t.Errorf(".gitignore is %q, want %q", got, tt.want)
			}
			if (s.Ignore != "") != (tt.have != tt.want) {
				t.Errorf("Ignore = %q, want the name of a changed file", s.Ignore)
			}
			if info, err := os.Stat(path); err != nil || tt.name != "empty" && info.Mode().Perm() != 0o640 {
				t.Errorf("the mode of .gitignore is %v (%v), want the one that it had", info.Mode(), err)
			}
		})
	}
}

func TestStartWritesNothingInHalf(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		spoil      func(t *testing.T, dir string)
	}{
		{"a folder for .gitignore", "is not a file", func(t *testing.T, dir string) { makeDir(t, filepath.Join(dir, ".gitignore")) }},
		{"a huge .gitignore", "longer than", func(t *testing.T, dir string) {
			writeFile(t, filepath.Join(dir, ".gitignore"), strings.Repeat("a\n", 600_000))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			tt.spoil(t, dir)
			_, err := project.Start(filepath.Join(dir, "sallyport.yaml"), "balanced")
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "nothing was written") {
				t.Errorf("Start = %v, want that nothing was written and %q", err, tt.want)
			}
			if list, _ := os.ReadDir(dir); len(list) != 1 {
				t.Errorf("the folder has %d entries, want the one of the test", len(list))
			}
		})
	}
}

func TestStartOverwritesNoConfiguration(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sallyport.yaml")
	writeFile(t, path, "version: 1\n")
	if _, err := project.Start(path, "balanced"); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("Start over a file = %v", err)
	}
	if got := readFile(t, path); got != "version: 1\n" {
		t.Errorf("the file is %q", got)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("the folder has %d entries, want the configuration alone", len(list))
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	target := filepath.Join(outside, "ignore")
	writeFile(t, target, "a\n")
	for name, to := range map[string]string{".gitignore": target, ".sallyport": outside} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	_, err := project.Start(filepath.Join(dir, "sallyport.yaml"), "balanced")
	if err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("Start beside a link = %v, want that it is not a folder", err)
	}
	if got := readFile(t, target); got != "a\n" {
		t.Errorf("the file behind the link is %q", got)
	}
	if list, _ := os.ReadDir(outside); len(list) != 1 {
		t.Errorf("the folder behind the link has %d entries, want 1", len(list))
	}
}

// TestEditorsFindTheSchema follows the first line of the written file.
func TestEditorsFindTheSchema(t *testing.T) {
	dir := t.TempDir()
	s, err := project.Start(filepath.Join(dir, "sallyport.yaml"), "balanced")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(readFile(t, s.Config), "\n")
	name, ok := strings.CutPrefix(first, "# yaml-language-server: $schema=")
	if !ok || filepath.Join(dir, name) != s.Schema {
		t.Fatalf("the first line is %q, want one that names %s", first, s.Schema)
	}
	if !json.Valid([]byte(readFile(t, s.Schema))) {
		t.Error("the schema is not JSON")
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func makeDir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
