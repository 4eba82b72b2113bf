package schema

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxProgram bounds the compiled size of one pattern. Matching takes time in
// proportion to it: a repetition such as (.{100}){10} costs a thousand times
// what its text suggests.
const maxProgram = 10_000

// maxPattern bounds the text of one pattern.
const maxPattern = 4096

// pattern is a regular expression with its cost per byte of text.
type pattern struct {
	*regexp.Regexp
	program int
	plain   *byteSequence // nil when only the expression says what it matches
}

// compilePattern compiles an RE2 expression. Syntax that only ECMAScript has,
// such as look-ahead and back references, is an error.
func compilePattern(expr string) (jsonschema.Regexp, error) {
	if len(expr) > maxPattern {
		return nil, fmt.Errorf("longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	plain := sequenceOf(tree) // before the tree is simplified
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxProgram {
		return nil, errors.New("repeats too much")
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return pattern{re, len(program.Inst), plain}, nil
}

// MatchString reports whether a text has a match of the pattern.
func (p pattern) MatchString(text string) bool {
	if p.plain != nil {
		return p.plain.matches(text)
	}
	return p.Regexp.MatchString(text)
}

// stepWork is how many instructions a step of the budget pays for, each on one
// byte: one takes up to 12 ns where every instruction is alive.
const stepWork = 32

// matchSteps returns what matching a text of n bytes costs, in the unit of
// the budget.
func (p pattern) matchSteps(n int) int { return 1 + n*p.program/stepWork }
