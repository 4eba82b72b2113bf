package output

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// TestHuntIsLinear counts what hunts look at in texts that repeat beginnings of
// values, of which values may have many.
func TestHuntIsLinear(t *testing.T) {
	t.Parallel()
	const size = 1 << 16
	rep := strings.Repeat
	shared := make([]string, 50)
	for i := range shared {
		shared[i] = rep("shared-0123456789-", 60) + fmt.Sprintf("end-%d-of-it", i)
	}
	prefixes := make([]string, 50)
	for i := range prefixes {
		prefixes[i] = rep("ab", 20*(i+1)) + "c"
	}
	periodic := rep("ab", 4000)
	base := base64.StdEncoding.EncodeToString([]byte(rep("abc", 3000)))
	for _, tt := range []struct {
		name   string
		values []string
		text   string // repeated
	}{
		{"period", []string{periodic}, "ab"},
		{"period that breaks off", []string{periodic + "c"}, "ab"},
		{"period that breaks off in the text", []string{periodic}, rep("ab", 3999) + "c"},
		{"one character", []string{rep("a", 8000) + "b"}, "a"},
		{"Fibonacci word", []string{fibonacci(8000) + "c"}, fibonacci(5000)},
		{"backslashes", []string{rep(`\`, 4000) + "ab"}, `\`},
		{"backslashes between", []string{rep(`\a`, 4000) + "b"}, `\a`},
		{"escaped backslashes", []string{rep(`\a`, 4000) + "b"}, `\\a`},
		{"escaped escapes", []string{rep("a", 500) + "b"}, `\\\\\\\\\\\\u0061`},
		{"percent", []string{rep("%", 4000) + "ab!"}, "%"},
		{"percent escapes", []string{rep("a", 4000) + "b"}, "%61"},
		{"percent or what it stands for", []string{rep("%61", 2000) + rep("a", 2000) + "b"}, "%61"},
		{"percent as it stands and escaped", []string{rep("a%", 4000) + "b"}, "a%25"},
		{"references", []string{rep("&", 1000) + "ab"}, "&amp;"},
		{"pluses and blanks", []string{rep("+ +a", 2000) + "b"}, "+ +a"},
		{"pluses for blanks", []string{rep("a ", 4000) + "b"}, "a+"},
		{"words on lines", []string{rep("a ", 4000) + "b"}, "a\n"},
		{"optional characters", []string{rep("a\n\t\u200b", 2000) + "b"}, `a\n\t`},
		{"many optional characters", []string{rep("a"+rep("\t\n", 50), 40) + "b"}, "a" + rep(`\t\n`, 50)},
		{"signs of a diff", []string{rep("+a", 4000) + "b"}, "+a\n+"},
		{"blanks after each character", []string{rep("ab", 4000) + "c"}, "a b "},
		{"full width", []string{rep("a", 4000) + "b"}, "ａ"},
		{"Chinese", []string{rep("一二", 4000) + "三"}, "一二"},
		{"hex", []string{rep("ab", 4000) + "c"}, "6162"},
		{"hex in two ways", []string{rep("3", 4000) + "ab"}, "3"},
		{"hex with separators", []string{rep("ab", 4000) + "c"}, "61:62:"},
		{"hex with carriage returns", []string{rep("ab\r", 2000) + "c"}, "61620d"},
		{"base64", []string{rep("abc", 3000) + "d"}, base},
		{"base64 at each offset", []string{rep("a", 6000) + "b"}, base64.StdEncoding.EncodeToString([]byte(rep("a", 999)))},
		{"shared beginnings", shared, "shared-0123456789-"},
		{"one is the beginning of another", prefixes, "ab"},
		{"ends of one another", []string{rep("ab", 100), rep("ab", 1000), "c" + rep("ab", 2000), "d" + rep("ab", 3000)}, "ab"},
		{"anchors far between", []string{rep("ab", 4000) + "c"}, "abababababababab" + rep("x", 100)},
		{"gaps", []string{rep("ab", 4000) + "c"}, "a\n\n\n\n\n\n\n\n\n\nb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCleaner(tt.values...)
			count := func(n int) int {
				w := sweeper{c: c, s: rep(tt.text, n/len(tt.text)+1)[:n], classes: basicPlane()}
				w.sweepPlain()
				w.sweepEscaped()
				w.huntNeedles()
				return w.steps
			}
			small, large := count(size), count(4*size)
			if small == 0 {
				t.Error("nothing was looked at")
			}
			if float64(large) > 4.4*float64(small) {
				t.Errorf("%d steps for %d bytes, %d for four times as many", small, size, large)
			}
			const most = 60
			if large > most*4*size {
				t.Errorf("%d steps for %d bytes, more than %d each", large, 4*size, most)
			}
		})
	}
}

// fibonacci returns the word of so many characters in which borders are longest.
func fibonacci(n int) string {
	a, b := "b", "a"
	for len(b) < n {
		a, b = b, b+a
	}
	return b[:n]
}

func TestHuntWithholdsWhatCanBeReadInTooManyWays(t *testing.T) {
	t.Parallel()
	values := []string{""}
	for range 7 {
		var longer []string
		for _, v := range values {
			longer = append(longer, v+"A", v+"%41")
		}
		values = longer
	}
	for i := range values {
		values[i] += "-the-end"
	}
	c := newCleaner(values...)
	for text, want := range map[string]string{
		"see " + strings.Repeat("%41", 7) + "-another end": "see [REDACTED:secret]",
		"see " + strings.Repeat("%41", 4) + "-another end": "see %41%41%41%41-another end",
	} {
		if got := string(c.Text(text)); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}
