package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// maxDuration bounds a duration: ten years are longer than anything that a
// configuration says, and far from an overflow.
const maxDuration = 3650 * 24 * time.Hour

// timeUnits lists the units of durations, the longest first.
var timeUnits = []struct {
	name string
	unit time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}

var (
	errDuration     = errors.New("expected a whole number followed by s, m, h or d, such as 30s")
	errLongDuration = errors.New("longer than 3650d")
)

// ParseDuration reads a duration as every key of a configuration writes it: a
// whole number and one of s, m, h and d (24 hours), such as "90s" or "1d". It
// may be 0. A sign, a fraction, a zero in front, two units and more than ten
// years are errors, which do not repeat the text.
func ParseDuration(text string) (time.Duration, error) {
	for _, u := range timeUnits {
		digits, ok := strings.CutSuffix(text, u.name)
		if !ok || !isDigits(digits) {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > int64(maxDuration/u.unit) {
			return 0, errLongDuration
		}
		return time.Duration(n) * u.unit, nil
	}
	return 0, errDuration
}

// durationCheck returns a check for a duration; what is kept is the number of
// nanoseconds.
func durationCheck(least, most time.Duration) func(*scope, string) (string, error) {
	return func(_ *scope, v string) (string, error) {
		d, err := ParseDuration(v)
		switch {
		case err != nil && !errors.Is(err, errLongDuration):
			return "", err
		case err != nil || d < least || d > most:
			return "", fmt.Errorf("%s is out of range: expected %s to %s", yamldoc.Quote(v), inUnits(least), inUnits(most))
		}
		return strconv.FormatInt(int64(d), 10), nil
	}
}

// keptSpan reads what a check of span kept.
func keptSpan(text string) time.Duration { return time.Duration(storedNumber(text)) }

// inUnits writes a duration as a configuration does.
func inUnits(d time.Duration) string {
	for _, u := range timeUnits {
		if d >= u.unit && d%u.unit == 0 {
			return strconv.FormatInt(int64(d/u.unit), 10) + u.name
		}
	}
	return "0s"
}
