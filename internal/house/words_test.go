package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// riddle finds words behind which a sentence hides who does what. The user
// named nobody may stay, and so may names of things that do not exist.
var riddle = regexp.MustCompile(`\b(?:[Ss]omebody|[Nn]obody|[Ww]hoever|[Mm]eanwhile)\b`)

// Sentences name who does what.
func TestSentencesNameWhoDoesWhat(t *testing.T) {
	const most = 60
	lines, read := []string{}, 0
	err := filepath.WalkDir(repository, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		read++
		for line := range strings.Lines(string(text)) {
			if riddle.MatchString(line) {
				lines = append(lines, path+": "+strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil || read == 0 {
		t.Fatalf("%d files read: %v", read, err)
	}
	if len(lines) > most {
		t.Errorf("%d lines, want at most %d, have a word that hides who does what:\n%s", len(lines), most, strings.Join(lines, "\n"))
	}
}
