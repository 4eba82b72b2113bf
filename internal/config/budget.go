package config

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/sallyport/sallyport/internal/costs"
)

// Budgets returns what a principal may spend under a role.
func (c *Config) Budgets(principal, role string) costs.Budgets {
	return costs.Budgets{Principal: c.budgets["principals."+principal], Role: c.budgets["personalities."+role]}
}

// budgetKeys returns the keys of the budget of a principal, or of a role.
func budgetKeys(of, whose string) []row {
	set := func(store func(b *costs.Budget, amount *big.Rat)) func(*scope, value) {
		return func(s *scope, v value) {
			kind, _ := splitKey(of)
			owner := kind + "." + s.name
			editElement(&s.cfg.budgets, owner, func(b *costs.Budget) {
				amount, _ := new(big.Rat).SetString(v.text)
				store(b, amount)
				b.Source = s.places[owner+".budget"].String()
			})
		}
	}
	return []row{
		{KeyDoc: KeyDoc{of + ".budget", TypeMapping, false, true, "no bound", "What " + whose + " may cost, in US dollars, by the `cost_usd` of the results. A call that may exceed it is refused.", "{session: 0.50, day: 5}"}},
		{
			KeyDoc: KeyDoc{of + ".budget.session", TypeDecimal, false, true, "no bound", "What one session may cost within 7 days.", "0.50"},
			check:  (*scope).parseUSD, set: set(func(b *costs.Budget, amount *big.Rat) { b.Session = amount }),
		},
		{
			KeyDoc: KeyDoc{of + ".budget.day", TypeDecimal, false, true, "no bound", "What all sessions may cost within any 24 hours.", "5"},
			check:  (*scope).parseUSD, set: set(func(b *costs.Budget, amount *big.Rat) { b.Day = amount }),
		},
	}
}

// parseUSD reads an amount of US dollars.
func (s *scope) parseUSD(v string) (string, error) {
	whole, part, point := strings.Cut(v, ".")
	amount, ok := new(big.Rat).SetString(v)
	if !isDigits(whole) || point && !isDecimals(part) || !ok || amount.Cmp(costs.Amount(costs.MaxUSD)) > 0 {
		return "", fmt.Errorf("expected US dollars such as 0.50, 0 to %d, with at most %d decimals", int64(costs.MaxUSD), maxDecimals)
	}
	return v, nil
}

// maxDecimals bounds the decimals of an amount: what calls cost has few.
const maxDecimals = 9

func isDecimals(s string) bool {
	return s != "" && len(s) <= maxDecimals && strings.Trim(s, "0123456789") == ""
}
