package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxSureDigits is how long a number may be for a rule to be sure of it: up to
// there it fits an int64, or a double without loss of order.
const maxSureDigits = 15

// scalarEnum is the scalars that a subschema allows. A number is listed by its
// text: equal texts are equal numbers; for other texts the validator decides.
type scalarEnum struct {
	strings, numbers []string
	null, yes, no    bool
}

// setEnum takes over enum and const; false when rules cannot hold them.
func (r *valueRule) setEnum(s *jsonschema.Schema) bool {
	var list []any
	switch {
	case s.Enum != nil && s.Const != nil:
		return false
	case s.Enum != nil:
		list = s.Enum.Values
	case s.Const != nil:
		list = []any{*s.Const}
	default:
		return true
	}
	r.enum = new(scalarEnum)
	var k kindSet
	for _, v := range list {
		switch v := v.(type) {
		case nil:
			r.enum.null = true
			k |= isNull
		case bool:
			r.enum.yes, r.enum.no = r.enum.yes || v, r.enum.no || !v
			k |= isBool
		case string:
			r.enum.strings = append(r.enum.strings, v)
			k |= isString
		case json.Number:
			r.enum.numbers = append(r.enum.numbers, string(v))
			k |= isInteger | isOther
		default:
			return false
		}
	}
	r.kinds &= k
	return len(list) <= maxRuleProps
}

// sureString reports whether a string surely satisfies the rule. What it
// costs is taken from the budget.
func (r *valueRule) sureString(s string, b *stepBudget) bool {
	if r.enum != nil && !slices.Contains(r.enum.strings, s) {
		return false
	}
	t := &r.text
	if t.least > 0 || t.most < len(s) {
		if n := utf8.RuneCountInString(s); n < t.least || n > t.most {
			return false
		}
	}
	if t.pattern != nil && (!b.spendSteps(t.pattern.matchSteps(len(s))) || !t.pattern.MatchString(s)) {
		return false
	}
	return t.format == nil || b.spendSteps(len(s)/64) && t.format.Validate(s) == nil
}

// isSureOf reports whether a decoded text or number surely satisfies the rule, without
// writing it as JSON. It is not sure of any other value.
func (r *valueRule) isSureOf(v any) bool {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return false
		}
		b := stepBudget{left: maxSteps}
		form := r.selectForm(isString)
		return form != nil && form.sureString(v, &b)
	case json.Number:
		whole, plain := readPlainNumber(string(v))
		k := isOther
		if whole {
			k = isInteger
		}
		form := r.selectForm(k)
		return plain && form != nil && form.sureNumber(string(v))
	default:
		return false
	}
}

// readPlainNumber reports whether a text is a short number without exponent, and whether
// it is one without fraction.
func readPlainNumber(n string) (whole, plain bool) {
	digits := strings.TrimPrefix(n, "-")
	before, after, point := strings.Cut(digits, ".")
	if len(n) > maxSureDigits || !isDigits(before) || len(before) > 1 && before[0] == '0' || point && !isDigits(after) {
		return false, false
	}
	return !point, true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// sureBool and sureNull report whether a literal surely satisfies the rule.
func (r *valueRule) sureBool(v bool) bool {
	return r.enum == nil || v && r.enum.yes || !v && r.enum.no
}

func (r *valueRule) sureNull() bool { return r.enum == nil || r.enum.null }

// numberRule is the part for numbers.
type numberRule struct {
	low, high *exactBound
	multiple  int64 // 0 when there is none
}

// exactBound is a limit that a double holds exactly.
type exactBound struct {
	limit     float64
	exclusive bool
}

// setNumber takes over the limits of numbers; false when rules cannot hold
// them.
func (r *valueRule) setNumber(s *jsonschema.Schema) bool {
	if m := s.MultipleOf; m != nil {
		if !m.IsInt() || !m.Num().IsInt64() || m.Sign() <= 0 {
			return false
		}
		r.number.multiple = m.Num().Int64()
	}
	var ok1, ok2 bool
	r.number.low, ok1 = boundOf(s.Minimum, s.ExclusiveMinimum)
	r.number.high, ok2 = boundOf(s.Maximum, s.ExclusiveMaximum)
	return ok1 && ok2
}

// boundOf converts the two spellings of a limit, of which one may be there.
func boundOf(inclusive, exclusive *big.Rat) (*exactBound, bool) {
	limit := inclusive
	switch {
	case inclusive != nil && exclusive != nil:
		return nil, false
	case exclusive != nil:
		limit = exclusive
	case inclusive == nil:
		return nil, true
	}
	f, exact := limit.Float64()
	return &exactBound{limit: f, exclusive: exclusive != nil}, exact
}

// sureNumber reports whether a number surely satisfies the rule.
func (r *valueRule) sureNumber(n string) bool {
	if r.enum != nil && !slices.Contains(r.enum.numbers, n) {
		return false
	}
	l := &r.number
	if l.low == nil && l.high == nil && l.multiple == 0 {
		return true
	}
	if len(n) > maxSureDigits {
		return false
	}
	i, err := strconv.ParseInt(n, 10, 64)
	whole := err == nil
	f := float64(i)
	if !whole {
		if f, err = strconv.ParseFloat(n, 64); err != nil {
			return false
		}
	}
	// An integer of so few digits is exactly a double. Anything else may have
	// been rounded; rounding keeps order, so that what is strictly inside the
	// limit after it was so before, and only equality tells nothing.
	if l.low != nil && (f < l.low.limit || f == l.low.limit && (l.low.exclusive || !whole)) {
		return false
	}
	if l.high != nil && (f > l.high.limit || f == l.high.limit && (l.high.exclusive || !whole)) {
		return false
	}
	return l.multiple == 0 || whole && i%l.multiple == 0
}
