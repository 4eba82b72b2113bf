// Package uritemplate matches URIs against URI templates (RFC 6570): what an expansion
// can give, and nothing else.
//
// Start with [Parse]. A server elsewhere may have written the template, so that its
// size and what it takes to match it are bounded.
package uritemplate

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// Bounds of one URI template. A server elsewhere may have written it, and each
// one is compiled.
const (
	maxTemplate = 2048 // bytes
	maxVarsEach = 8    // variables of an expression: they make a square of it
	maxVars     = 32   // variables of a template
	maxPrefix   = 100  // characters of all prefix modifiers together
	maxCost     = 64   // the squares of the variables of each expression, together
)

// MaxMatching bounds what it takes to hold one URI to all templates of a server:
// their cost times the bytes of the URI.
const MaxMatching = 10_000_000

// The characters of a value (RFC 6570, 1.5): what an expansion leaves as it is
// or encodes, with and without the reserved ones.
const (
	unreserved = `(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})`
	reserved   = `(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})`
)

// Template is a compiled URI template (RFC 6570): it matches what an
// expansion can give when each variable is a string, a list where the
// template says "*", or undefined. Nothing else matches, whatever it looks
// like. It is safe for concurrent use.
type Template struct {
	re   *regexp.Regexp
	cost int
}

// Cost is how many values an expression may have to try at once. Matching takes some
// 30 ns on a slow core for each byte of the URI and unit of the cost; callers keep the
// product within [MaxMatching].
func (t *Template) Cost() int { return t.cost }

// Match reports whether the template can expand to a URI.
func (t *Template) Match(uri string) bool { return t.re.MatchString(uri) }

// expressionOperator is how an expression expands (RFC 6570, appendix A).
type expressionOperator struct {
	first, sep string
	named      bool
	empty      string // after the name of an empty value
	value      string
}

// operators maps what an expression begins with; others are reserved.
var operators = map[byte]expressionOperator{
	'+': {"", ",", false, "", reserved},
	'#': {"#", ",", false, "", reserved},
	'.': {".", ".", false, "", unreserved},
	'/': {"/", "/", false, "", unreserved},
	';': {";", ";", true, "", unreserved},
	'?': {"?", "&", true, "=", unreserved},
	'&': {"&", "&", true, "=", unreserved},
}

// variable is a name, which stays as it is when it is percent-encoded.
var variable = text.Pattern(`^(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*$`)

// Parse compiles a template. The error says what is wrong with it, or that it is too
// large or too complex.
func Parse(text string) (*Template, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("the template has %d bytes, expected at most %d", len(text), maxTemplate)
	}
	p := templateParser{}
	p.out.WriteString(`\A`)
	for rest := text; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if strings.ContainsAny(literal, "}<>\"\\^`| ") {
			return nil, fmt.Errorf("the template has a character outside {…} that a URI cannot hold: %q", literal)
		}
		p.out.WriteString(regexp.QuoteMeta(literal))
		if !found {
			break
		}
		inner, next, closed := strings.Cut(after, "}")
		if !closed {
			return nil, errors.New("the template has a { without a }")
		}
		if err := p.parseExpression(inner); err != nil {
			return nil, err
		}
		rest = next
	}
	p.out.WriteString(`\z`)
	re, err := regexp.Compile(p.out.String())
	if err != nil {
		return nil, errors.New("the template is too complex")
	}
	return &Template{re, 1 + p.cost + p.prefix*maxVarsEach}, nil
}

// templateParser writes the expression that matches a template.
type templateParser struct {
	out                strings.Builder
	vars, prefix, cost int
}

// parseExpression adds what is between braces: any of its variables may be
// undefined, so that it is absent with its separator.
func (p *templateParser) parseExpression(inner string) error {
	if inner == "" {
		return errors.New("the template has an empty {}")
	}
	op := expressionOperator{sep: ",", value: unreserved}
	if c := inner[0]; strings.IndexByte("+#./;?&=,!@|$", c) >= 0 {
		var ok bool
		if op, ok = operators[c]; !ok {
			return fmt.Errorf("the template has the reserved operator %q", c)
		}
		inner = inner[1:]
	}
	names := strings.Split(inner, ",")
	if p.vars += len(names); len(names) > maxVarsEach || p.vars > maxVars {
		return fmt.Errorf("the template has too many variables, expected at most %d, and %d in one {…}", maxVars, maxVarsEach)
	}
	if p.cost += len(names) * len(names); p.cost > maxCost {
		return fmt.Errorf("the template has too many variables in its {…}: expected %d as the sum of their squares", maxCost)
	}
	items := make([]string, len(names))
	for i, name := range names {
		var err error
		if items[i], err = p.variablePattern(op, name); err != nil {
			return err
		}
	}
	// The first variable that is defined has no separator before it.
	choices := make([]string, len(items))
	for i := range items {
		choices[i] = items[i]
		for _, later := range items[i+1:] {
			choices[i] += "(?:" + regexp.QuoteMeta(op.sep) + later + ")?"
		}
	}
	p.out.WriteString("(?:" + regexp.QuoteMeta(op.first) + "(?:" + strings.Join(choices, "|") + "))?")
	return nil
}

// variablePattern returns the pattern that one variable expands to.
func (p *templateParser) variablePattern(op expressionOperator, spec string) (string, error) {
	name, list := strings.CutSuffix(spec, "*")
	times, some := "*", "+"
	if before, digits, ok := strings.Cut(name, ":"); ok {
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || list || strconv.Itoa(n) != digits {
			return "", fmt.Errorf("the template has a broken modifier: %q", spec)
		}
		if p.prefix += n; p.prefix > maxPrefix {
			return "", fmt.Errorf("the template has prefixes of more than %d characters", maxPrefix)
		}
		name, times, some = before, "{0,"+digits+"}", "{1,"+digits+"}"
	}
	if !variable().MatchString(name) {
		return "", fmt.Errorf("the template has a broken variable: %q", spec)
	}
	value := op.value + times
	if op.named {
		value = regexp.QuoteMeta(name) + "(?:=" + op.value + some + "|" + op.empty + ")"
	}
	if list {
		value += "(?:" + regexp.QuoteMeta(op.sep) + value + ")*"
	}
	return value, nil
}
