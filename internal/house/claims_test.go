package house_test

import (
	"go/build/constraint"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// entryRef matches the id of an entry of the register.
	entryRef = regexp.MustCompile(`\bG-[A-Z]+\b`)
	// entryHeading matches the heading of an entry of the register.
	entryHeading = regexp.MustCompile(`(?m)^## (G-[A-Z]+):`)
	// packageRef matches the name of a package, or of another thing that a text
	// calls one.
	packageRef = regexp.MustCompile(`\b[Pp]ackage ([a-z]\w*)`)
	promise    = regexp.MustCompile(`\bpromises?\b`)
)

// wordsAfterPackage lists words that follow "package" in plain sentences.
const wordsAfterPackage = " a alone and as beside by came comment decides do does for from has holds imports in installed is it knows launcher launchers made main manager " +
	"managers may names of or panics promises rarely reads runs says stores that the turns variables was where which with without would writes "

// TestC29_PackageCommentsClaimWhatIsHeld checks package comments. A package
// that a comment names must exist. A comment that makes a promise must name the
// entries of the register with the code and tests for it.
func TestC29_PackageCommentsClaimWhatIsHeld(t *testing.T) {
	known := knownPackages(t)
	entries := registered(t)
	for dir, files := range packages(t) {
		for path, f := range files {
			if f.Doc == nil || constraint.IsGoBuild(f.Doc.List[0].Text) {
				continue
			}
			for _, fault := range claimFaults(f.Doc.Text(), known, entries, !strings.Contains(dir, "internal")) {
				t.Errorf("%s: %s", path, fault)
			}
		}
	}
}

// TestC29_PagesClaimWhatIsHeld checks every page in the same way. README.md and
// SECURITY.md make promises, so they must name entries.
func TestC29_PagesClaimWhatIsHeld(t *testing.T) {
	known, entries := knownPackages(t), registered(t)
	for _, p := range pages(t) {
		text, names := page(t, p), known
		if strings.HasPrefix(p, "docs/") {
			names = nil // These pages are also about packages of npm.
		}
		for _, fault := range claimFaults(code.ReplaceAllString(text, ""), names, entries, false) {
			t.Errorf("%s: %s", p, fault)
		}
		if (p == "README.md" || p == "SECURITY.md") && !entryRef.MatchString(text) {
			t.Errorf("%s names no entry of %s", p, register)
		}
	}
	for _, p := range []string{"README.md", "SECURITY.md", register} {
		if !slices.Contains(pages(t), p) {
			t.Errorf("%s is not read", p)
		}
	}
}

// claimFaults returns the names in a text that do not exist. Without known
// packages it does not check the names of packages.
func claimFaults(text string, known map[string]bool, entries []string, promises bool) (faults []string) {
	for _, m := range packageRef.FindAllStringSubmatch(text, -1) {
		if known != nil && !known[m[1]] && !strings.Contains(wordsAfterPackage, " "+m[1]+" ") {
			faults = append(faults, "there is no package "+m[1])
		}
	}
	named := entryRef.FindAllString(text, -1)
	for _, id := range named {
		if !slices.Contains(entries, id) {
			faults = append(faults, "there is no entry "+id+" in "+register)
		}
	}
	if promises && promise.MatchString(text) && len(named) == 0 {
		faults = append(faults, "it promises something and names no entry of "+register)
	}
	return faults
}

// registered returns the ids of the register.
func registered(t *testing.T) (ids []string) {
	t.Helper()
	for _, m := range entryHeading.FindAllStringSubmatch(page(t, register), -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// knownPackages returns the last path elements of the packages of this module
// and of the standard library.
func knownPackages(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for dir := range packages(t) {
		known[filepath.Base(dir)] = true
	}
	known["sallyport"] = true
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(string(out)) {
		known[path[strings.LastIndexByte(path, '/')+1:]] = true
	}
	return known
}

// TestClaimsAreReallyRead tests the check itself.
func TestClaimsAreReallyRead(t *testing.T) {
	known, entries := map[string]bool{"egress": true}, []string{"G-NET"}
	for text, want := range map[string]string{
		"Trusted code, and package ambient keeps it honest.": "there is no package ambient",
		"What a package does, see package egress.":           "",
		"It promises that nothing leaves.":                   "names no entry",
		"It promises that nothing leaves (G-NET).":           "",
		"See G-NONE.": "there is no entry G-NONE",
	} {
		faults := strings.Join(claimFaults(text, known, entries, true), "; ")
		if (want == "") != (faults == "") || !strings.Contains(faults, want) {
			t.Errorf("%q = %q, want %q", text, faults, want)
		}
	}
}
