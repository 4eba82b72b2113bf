package house_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const walksPage = "docs/internals/walks.md"

var (
	// walkStep matches the beginning of a step and captures its number.
	walkStep = regexp.MustCompile(`(?m)^(\d+)\. `)
	// placeRef matches a file or folder in backticks, alone or before a symbol.
	placeRef = regexp.MustCompile("`([\\w.-]+(?:/[\\w.-]+)*)(?:: [\\w.]+)?`")
)

// TestWalksNameTheirPlaces reads the walks: each one has numbered steps, and
// each step names a file or folder that exists. TestPagesNameWhatExists checks
// the symbols.
func TestWalksNameTheirPlaces(t *testing.T) {
	text := page(t, walksPage)
	for _, title := range []string{"Add a tool", "Add a capability group", "Add a configuration key", "Add a route", "Add a state backend"} {
		if !strings.Contains(text, "\n## "+title+"\n") {
			t.Errorf("%s has no walk %q", walksPage, title)
		}
	}
	for walk := range strings.SplitSeq(text, "\n## ") {
		title, steps, _ := strings.Cut(walk, "\n")
		if !strings.HasPrefix(title, "Add ") {
			continue
		}
		for _, fault := range walkFaults(steps) {
			t.Errorf("%s: %s: %s", walksPage, title, fault)
		}
	}
}

// walkFaults names the steps that are missing or lead to no place.
func walkFaults(text string) (faults []string) {
	starts := walkStep.FindAllStringSubmatchIndex(text, -1)
	if len(starts) < 3 {
		faults = append(faults, fmt.Sprintf("it has %d steps, want 3 or more", len(starts)))
	}
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		if number := text[at[2]:at[3]]; number != strconv.Itoa(i+1) {
			faults = append(faults, fmt.Sprintf("step %s stands in place %d", number, i+1))
		}
		if step := text[at[0]:end]; !namesPlace(step) {
			faults = append(faults, "no file, folder or page of this step exists: "+step)
		}
	}
	return faults
}

// namesPlace reports whether a step names a file or folder of the repository,
// or links to a page.
func namesPlace(step string) bool {
	for _, m := range placeRef.FindAllStringSubmatch(step, -1) {
		if _, err := os.Stat(filepath.Join(repository, m[1])); err == nil {
			return true
		}
	}
	return len(links(step)) > 0
}

// TestWalksAreReallyRead tests the check itself.
func TestWalksAreReallyRead(t *testing.T) {
	for text, want := range map[string]int{
		"1. `tool.go: Tool`\n2. `store/memory`\n3. [page](x.md)\n":          0,
		"1. `tool.go: Tool`\n2. `store/memory`\n":                           1,
		"1. `tool.go: Tool`\n3. `store/memory`\n2. [page](x.md)\n":          2,
		"1. `tool.go: Tool`\n2. `store/nowhere`\n3. `nowhere.go: Type.x`\n": 2,
	} {
		if got := walkFaults(text); len(got) != want {
			t.Errorf("walkFaults(%q) = %q, want %d", text, got, want)
		}
	}
}
