package house_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const attacksPage = "docs/attacks.md"

// TestEveryAttackHasItsTest reads the table of attacks. For each id, a test
// that the row names must exist and hold the id in its name, so that -run finds
// it.
func TestEveryAttackHasItsTest(t *testing.T) {
	ids, faults := attackFaults(newSources(t), page(t, attacksPage))
	for _, fault := range faults {
		t.Errorf("%s: %s", attacksPage, fault)
	}
	if ids < 45 {
		t.Errorf("%s has %d ids, want all of them", attacksPage, ids)
	}
}

// TestEveryAttackOnSallyportHasItsTest checks the table of attacks on Sallyport
// in the same way.
func TestEveryAttackOnSallyportHasItsTest(t *testing.T) {
	_, table, _ := strings.Cut(page(t, attacksPage), "<!-- attacks on sallyport -->")
	table, _, _ = strings.Cut(table, "<!-- end of attacks on sallyport -->")
	ids, faults := rowFaults(newSources(t), table, 4)
	for _, fault := range faults {
		t.Errorf("%s: %s", attacksPage, fault)
	}
	if ids < 55 {
		t.Errorf("%s has %d ids, want all of them", attacksPage, ids)
	}
}

// attackFaults counts the ids of the table and names those without a test.
func attackFaults(s *sources, text string) (ids int, faults []string) {
	_, table, _ := strings.Cut(text, "<!-- attacks by id -->")
	table, _, _ = strings.Cut(table, "<!-- end -->")
	return rowFaults(s, table, 3)
}

// rowFaults checks the rows of a table. The last cell of a row names its tests.
func rowFaults(s *sources, table string, width int) (ids int, faults []string) {
	rows := strings.Split(strings.TrimSpace(table), "\n")
	for _, row := range rows[min(2, len(rows)):] {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		if len(cells) != width {
			faults = append(faults, fmt.Sprintf("a row has no %d cells: %s", width, row))
			continue
		}
		var names []string
		for _, m := range testRef.FindAllStringSubmatch(cells[width-1], -1) {
			if s.testsIn(m[1])[m[2]] {
				names = append(names, m[2])
			} else {
				faults = append(faults, m[1]+" has no "+m[2])
			}
		}
		for id := range strings.SplitSeq(cells[0], ", ") {
			if ids++; !slices.ContainsFunc(names, func(name string) bool { return namesID(name, id) }) {
				faults = append(faults, id+" is in the name of no test of its row")
			}
		}
	}
	return ids, faults
}

var notInIDs = regexp.MustCompile(`[^a-z0-9]+`)

// namesID reports whether the name of a test holds an id. An id with a number
// must be a whole part of the name, so that A10 does not match A1. Words may
// run together.
func namesID(name, id string) bool {
	name, id = strings.ToLower(name), strings.ToLower(id)
	if !strings.ContainsAny(id, "0123456789") {
		return strings.Contains(name, notInIDs.ReplaceAllString(id, ""))
	}
	return strings.Contains("_"+strings.TrimPrefix(name, "test")+"_", "_"+notInIDs.ReplaceAllString(id, "_")+"_")
}

// TestAttacksAreReallyRead tests the check itself.
func TestAttacksAreReallyRead(t *testing.T) {
	const table = "<!-- attacks by id -->\n| id | a | b |\n| --- | --- | --- |\n%s<!-- end -->"
	for row, want := range map[string]string{
		"| CVE-2026-27896 | x | `internal/command TestCVE_2026_27896_CaseFoldedKeys` |\n":             "",
		"| CVE-2026-27896, CVE-1999-1 | x | `internal/command TestCVE_2026_27896_CaseFoldedKeys` |\n": "CVE-1999-1 is in the name of no test",
		"| CVE-2026-27896 | x | `internal/command TestCVE_2026_27896_Nothing` |\n":                    "internal/command has no TestCVE_2026_27896_Nothing",
		"| CVE-2026-27896 | x |\n": "no 3 cells",
	} {
		_, faults := attackFaults(newSources(t), strings.Replace(table, "%s", row, 1))
		if text := strings.Join(faults, "; "); (want == "") != (text == "") || !strings.Contains(text, want) {
			t.Errorf("%s = %q, want %q", row, text, want)
		}
	}
}
