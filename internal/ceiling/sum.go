package ceiling

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"time"
)

// readSum reads the bound of an argument over a window.
func (c *compiler) readSum(at place, v any) *Sum {
	m, ok := v.(map[string]any)
	if !ok {
		c.addFault(at, "expected {max: NUMBER, per: WINDOW, by: ARGUMENT}")
		return nil
	}
	s, bad := &Sum{Together: c.tool == nil}, len(c.faults)
	for _, word := range slices.Sorted(maps.Keys(m)) {
		switch word {
		case "max":
			n, ok := m[word].(json.Number)
			bound, exact := Exact(n)
			if !ok || !exact {
				c.addFault(at.within("max"), "expected a number of at most 40 digits")
			} else if bound.Sign() < 0 {
				c.addFault(at.within("max"), "expected a number that is not negative: amounts are not")
			}
			s.Max, s.bound = n, bound
		case "per":
			text, _ := m[word].(string)
			var ok bool
			if s.Per, ok = readWindow(text); !ok {
				c.addFault(at.within("per"), "expected a window such as 1h or 1d, at most 366d")
			}
		case "by":
			if s.By, ok = m[word].(string); !ok || s.By == "" {
				c.addFault(at.within("by"), "expected the name of an argument")
			} else {
				c.checkArgument(at.within("by"), s.By, c.tool)
			}
		default:
			c.addFault(at.within(word), "%q is no word of sum: expected max, per and by", word)
		}
	}
	if len(c.faults) == bad && (s.Max == "" || s.Per == 0) {
		c.addFault(at, "expected max and per")
	}
	return s
}

// maxWindow bounds the window of a sum.
const maxWindow = 366 * 24 * time.Hour

func readWindow(text string) (time.Duration, bool) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	if len(text) < 2 {
		return 0, false
	}
	unit := units[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 31)
	if err != nil || unit == 0 || n == 0 || time.Duration(n) > maxWindow/unit {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// Bound returns the bound; nothing for a sum that was not compiled. The caller must not
// change it.
func (s *Sum) Bound() *big.Rat {
	if s.bound == nil {
		return new(big.Rat)
	}
	return s.bound
}

// BindTo fits the ceiling of a rule over several tools to one of them: a bound for each
// value of an argument that this tool does not declare counts all its calls together,
// for a caller could put anything there. It comes before the first check.
func (c *Ceiling) BindTo(tool json.RawMessage) error {
	declared, err := decodeDeclared(tool)
	if err == nil && !isOpen(declared) {
		c.root.bindSums(declared)
	}
	return err
}

func (n *node) bindSums(declared map[string]any) {
	if n == nil {
		return
	}
	known, _ := declared["properties"].(map[string]any)
	if n.sum != nil && n.sum.By != "" {
		if _, declares := known[n.sum.By]; !declares {
			n.sum.By = ""
		}
	}
	for _, sub := range n.subs {
		sub.bindSums(declared)
	}
	n.items.bindSums(declared)
}
