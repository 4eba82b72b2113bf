package lock

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestThePageListsTheRules holds the table of docs/guides/lock.md to the code.
func TestThePageListsTheRules(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/lock.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]string, len(ruleTable))
	for i, r := range ruleTable {
		rows[i] = fmt.Sprintf("| %s | `%s` | %s |\n", r.severity, r.rule, r.message)
	}
	if table := strings.Join(rows, ""); !strings.Contains(string(text), table) {
		t.Errorf("docs/guides/lock.md does not hold the table\n%s", table)
	}
}

// TestLookalikesAreOfOneLetter finds characters that stand in two rows.
func TestLookalikesAreOfOneLetter(t *testing.T) {
	seen := map[rune]byte{}
	for _, row := range lookalikes {
		for _, r := range row.like {
			if c, ok := seen[r]; ok && c != row.ascii || r < 0x80 {
				t.Errorf("U+%04X stands for %c and %c", r, c, row.ascii)
			}
			seen[r] = row.ascii
		}
	}
}

func TestUnknownRuleIsCritical(t *testing.T) {
	if got := Rule("x").tableRow().severity; got != SeverityCritical {
		t.Errorf("an unknown rule is %s, want critical", got)
	}
}
