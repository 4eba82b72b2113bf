package config

import (
	"math/big"
	"strings"
	"testing"
)

func TestABudgetIsAnExactAmount(t *testing.T) {
	t.Parallel()
	c, err := Parse("s.yaml", []byte("version: 1\nactions: []\npersonalities:\n  r: {budget: {session: 0.1, day: 0}}\nprincipals:\n  p: {budget: {day: 1000000000}}\n"), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	b := c.Budgets("p", "r")
	if b.Role.Session.Cmp(big.NewRat(1, 10)) != 0 || b.Role.Day.Sign() != 0 || b.Principal.Day.Cmp(big.NewRat(1e9, 1)) != 0 || b.Principal.Session != nil {
		t.Errorf("Budgets() = %v, %v", b.Principal, b.Role)
	}
	if b.Role.Source != "s.yaml:4:7" || b.Principal.Source != "s.yaml:6:7" {
		t.Errorf("they stand at %q and %q", b.Role.Source, b.Principal.Source)
	}
	if none := c.Budgets("q", "s"); !none.None() {
		t.Errorf("Budgets of others = %v", none)
	}
	for _, amount := range []string{"-1", "1e400", ".5", "5.", "1000000001", ".nan", ".inf", "0x10", "1_000", "01", "0.1234567891", `"1"`, "[1]"} {
		_, err := Parse("s.yaml", []byte("version: 1\npersonalities:\n  r: {budget: {day: "+amount+"}}\n"), testOptions())
		if err == nil || !strings.Contains(err.Error(), "s.yaml:3:21") {
			t.Errorf("a budget of %s: %v", amount, err)
		}
	}
}
