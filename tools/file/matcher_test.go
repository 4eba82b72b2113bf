package file

import (
	"errors"
	"strings"
	"testing"
)

// TestMatcherAsksOnTheWay checks that an expression which takes long for a text asks
// whether the call goes on, and stops where it does not.
func TestMatcherAsksOnTheWay(t *testing.T) {
	t.Parallel()
	m, err := newTextMatcher("(a{0,20}){0,20}b", modeRegular, false)
	if err != nil {
		t.Fatal(err)
	}
	text := []byte(strings.Repeat("a", matchChunk/2))
	asked, stop := 0, errors.New("enough")
	alive := func() error {
		if asked++; asked > 2 {
			return stop
		}
		return nil
	}
	if _, err := m.nextMatch(text, 0, alive); !errors.Is(err, stop) || asked != 3 {
		t.Errorf("nextMatch() = %v after %d questions, want %v after 3", err, asked, stop)
	}
}

// TestMatcherFindsTheSameOnBothWays compares a long text, whose search asks on the
// way, with a short one.
func TestMatcherFindsTheSameOnBothWays(t *testing.T) {
	t.Parallel()
	const hit = "b\xff\xc3\xa9 xaab"
	for _, pattern := range []string{`x(a{0,20}){0,20}b$`, `\bxaa?(b{0,20}){0,20}`, `^(é{1,2}.){0,50}none`, `(?s)\xe9.x(a{0,30}){0,10}`} {
		m, err := newTextMatcher(pattern, modeRegular, false)
		if err != nil {
			t.Fatal(err)
		}
		lead := strings.Repeat("c", maxUnasked/m.program)
		find := func(text string) int {
			at, err := m.nextMatch([]byte(text), 0, func() error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			return at
		}
		short, long := find(hit), find(lead+hit)
		if short >= 0 {
			short += len(lead)
		}
		if short != long {
			t.Errorf("%s begins at %d of the long text, want %d", pattern, long, short)
		}
	}
}
